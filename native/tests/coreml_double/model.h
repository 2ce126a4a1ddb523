// A loaded model as descriptions, configuration, model and plan see it.
#pragma once

#include <memory>
#include <string>

#include "arrays.h"

namespace coreml_double {

// Of the program inside a package or a compiled folder.
inline constexpr const char* kModel = "Data/com.apple.CoreML/model.mlmodel";

// What a compiled folder holds; throws NSError text as SpecError.
struct Loaded {
  std::string folder;
  Spec spec;
  std::string temporary;  // removed with the model: an asset that never was on disk
  ~Loaded();
};
std::shared_ptr<Loaded> load_folder(const std::string& folder);
std::string temporary_folder();
std::string bytes_of(const std::string& path);  // throws SpecError

std::string shape_text(const Shape& shape);
bool allows(const Feature& feature, const Shape& shape);

}  // namespace coreml_double

@interface MLModelAsset () {
 @public
  std::shared_ptr<coreml_double::Loaded> loaded_;
}
@end

@interface MLModelDescription () {
 @public
  coreml_double::Interface interface_;
}
@end
