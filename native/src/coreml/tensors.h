// Features of a model: its inputs and outputs, and tensors as arrays of Core ML and back. Only for
// the Objective-C++ files.
#pragma once

#import "objc.h"

namespace rlx::coreml {

Interface interface_of(MLModelDescription* _Nonnull description);
const Feature* _Nullable find(const std::vector<Feature>& features, const std::string& name);
std::string shape_text(const Shape& shape);

// Checked against the interface: a mismatch fails here, because Core ML may raise.
id<MLFeatureProvider> _Nonnull provider_of(const std::vector<Tensor>& inputs, const Interface& interface);
Tensor read_array(MLMultiArray* _Nonnull array, const std::string& name, bool keep_half);

// Memory proposed for an output of known shape, aligned to pages: Core ML may write there and save
// a copy.
struct Backing {
  std::string name;
  MLMultiArray* _Nonnull array;
};
std::vector<Backing> backings_for(MLModelDescription* _Nonnull description, const Interface& interface);
MLPredictionOptions* _Nonnull options_with(const std::vector<Backing>& backings);
void read_outputs(id<MLFeatureProvider> _Nonnull result, const Interface& interface,
                  const std::vector<Backing>& backings, bool keep_half, Prediction& into);

}  // namespace rlx::coreml
