// A loaded model as the plan sees it.
#pragma once

#include <memory>
#include <string>

#include "arrays.h"

namespace coreml_double {

// What a compiled folder holds; throws NSError text as SpecError.
struct Loaded {
  std::string folder;
  Spec spec;
  std::string temporary;  // removed with the model: an asset that never was on disk
  ~Loaded();
};
std::shared_ptr<Loaded> load_folder(const std::string& folder);

}  // namespace coreml_double

@interface MLModelAsset () {
 @public
  std::shared_ptr<coreml_double::Loaded> loaded_;
}
@end
