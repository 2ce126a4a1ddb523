#import "tensors.h"

#include <cstdlib>

#include "strided.h"

// The interface of a model as plain values, and its features in and out: input memory is wrapped,
// not copied, and lives until Core ML lets go of it; results are read by their strides, unless Core
// ML wrote them where we proposed.
namespace rlx::coreml {
namespace {

// Below this a copy costs less than what Core ML does to use a backing.
constexpr size_t kBackingBytes = 16384;
constexpr size_t kPage = 16384;

Feature feature_of(MLFeatureDescription* description) {
  Feature made;
  made.name = text_of(description.name);
  made.optional = description.optional;
  MLMultiArrayConstraint* constraint =
      description.type == MLFeatureTypeMultiArray ? description.multiArrayConstraint : nil;
  if (!constraint) return made;
  made.type = dtype_of(constraint.dataType);
  made.shape = shape_of(constraint.shape);
  MLMultiArrayShapeConstraint* flexible = constraint.shapeConstraint;
  if (flexible.type == MLMultiArrayShapeConstraintTypeEnumerated)
    for (NSArray<NSNumber*>* shape in flexible.enumeratedShapes) made.shapes.push_back(shape_of(shape));
  if (flexible.type == MLMultiArrayShapeConstraintTypeRange)
    for (NSValue* value in flexible.sizeRangeForDimension) {
      const NSRange range = value.rangeValue;
      // A dim without end has a length near the largest integer.
      const bool endless = range.length > static_cast<NSUInteger>(1) << 48;
      made.ranges.emplace_back(static_cast<int64_t>(range.location),
                               endless ? -1 : static_cast<int64_t>(range.location + range.length - 1));
    }
  return made;
}

bool allows(const Feature& feature, const Shape& shape) {
  if (shape.size() != feature.shape.size()) return false;
  if (!feature.shapes.empty()) {
    for (const Shape& one : feature.shapes)
      if (one == shape) return true;
    return false;
  }
  if (feature.ranges.empty()) return shape == feature.shape;
  for (size_t i = 0; i < shape.size() && i < feature.ranges.size(); i++) {
    const auto [least, most] = feature.ranges[i];
    if (shape[i] < least || (most >= 0 && shape[i] > most)) return false;
  }
  return true;
}

// The shape of a tensor that came without one: the feature's own, or the only allowed one with that
// many elements.
Shape inferred_shape(const Feature& feature, int64_t count) {
  if (element_count(feature.shape) == count) return feature.shape;
  for (const Shape& one : feature.shapes)
    if (element_count(one) == count) return one;
  Shape made = feature.shape;
  int free_dim = -1;
  for (size_t i = 0; i < feature.ranges.size() && i < made.size(); i++) {
    if (feature.ranges[i].first == feature.ranges[i].second) continue;
    if (free_dim >= 0)
      throw Failure("INPUT_ARGUMENT",
                    "[coreml] input " + feature.name + ": more than one size is free, so a shape must be given");
    free_dim = static_cast<int>(i);
  }
  if (free_dim >= 0) {
    made[static_cast<size_t>(free_dim)] = 1;
    const int64_t rest = element_count(made);
    if (rest > 0 && count % rest == 0) made[static_cast<size_t>(free_dim)] = count / rest;
  }
  return made;
}

// Memory of ours as an array of Core ML: the block holds it for as long as the array lives.
MLMultiArray* wrapped(Bytes bytes, const Shape& shape, DType type) {
  NSError* error = nil;
  MLMultiArray* made = [[MLMultiArray alloc] initWithDataPointer:bytes->data()
                                                           shape:numbers_of(shape)
                                                        dataType:data_type_of(type)
                                                         strides:numbers_of(dense_strides(shape))
                                                     deallocator:^(void*) {
                                                       (void)bytes;
                                                     }
                                                           error:&error];
  if (!made) throw failure_of(error, "prediction");
  return made;
}

MLMultiArray* array_of(const Tensor& tensor, const Feature& feature) {
  const size_t width = byte_width(tensor.type);
  const auto count = static_cast<int64_t>(width == 0 ? 0 : tensor.bytes->size() / width);
  const Shape shape = tensor.shape.empty() && !feature.shape.empty() ? inferred_shape(feature, count) : tensor.shape;
  if (!allows(feature, shape))
    throw Failure("INPUT_ARGUMENT", "[coreml] input " + feature.name + ": got " + shape_text(shape) + ", expected " +
                                        shape_text(feature.shape));
  if (element_count(shape) != count)
    throw Failure("INPUT_ARGUMENT", "[coreml] input " + feature.name + ": got " + std::to_string(count) +
                                        " numbers for " + shape_text(shape));
  if (tensor.type == feature.type) return wrapped(tensor.bytes, shape, feature.type);
  auto converted = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(count) * byte_width(feature.type));
  copy_in(tensor, shape, converted->data(), feature.type, dense_strides(shape));
  return wrapped(converted, shape, feature.type);
}

// The type of an output for the caller: halves become singles unless asked otherwise.
DType wanted_type(DType type, bool keep_half) {
  if (type == DType::f64 || (type == DType::f16 && !keep_half)) return DType::f32;
  return type;
}

}  // namespace

// ------------------------------------------------------------------------- descriptions

Interface interface_of(MLModelDescription* description) {
  Interface made;
  const auto collect = [](NSDictionary<NSString*, MLFeatureDescription*>* from, std::vector<Feature>& into) {
    for (NSString* name in from)
      if (MLFeatureDescription* one = from[name]) into.push_back(feature_of(one));
  };
  collect(description.inputDescriptionsByName, made.inputs);
  collect(description.outputDescriptionsByName, made.outputs);
  if (@available(macOS 15.0, *)) {
    NSDictionary<NSString*, MLFeatureDescription*>* states = description.stateDescriptionsByName;
    for (NSString* name in states) {
      MLStateConstraint* constraint = states[name].stateConstraint;
      if (!constraint) continue;
      Feature held;
      held.name = text_of(name);
      held.type = dtype_of(constraint.dataType);
      held.shape = shape_of(constraint.bufferShape);
      made.states.push_back(held);
    }
  }
  return made;
}

const Feature* find(const std::vector<Feature>& features, const std::string& name) {
  for (const Feature& one : features)
    if (one.name == name) return &one;
  return nullptr;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (int64_t dim : shape) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return "[" + text + "]";
}

// ---------------------------------------------------------------------------- in and out

id<MLFeatureProvider> provider_of(const std::vector<Tensor>& inputs, const Interface& interface) {
  NSMutableDictionary<NSString*, id>* values = [[NSMutableDictionary alloc] init];
  for (const Tensor& tensor : inputs) {
    const Feature* feature = find(interface.inputs, tensor.name);
    if (!feature) throw Failure("INPUT_ARGUMENT", "[coreml] there is no input " + tensor.name);
    values[string_of(tensor.name)] = [MLFeatureValue featureValueWithMultiArray:array_of(tensor, *feature)];
  }
  for (const Feature& feature : interface.inputs)
    if (!feature.optional && !values[string_of(feature.name)])
      throw Failure("INPUT_ARGUMENT", "[coreml] input " + feature.name + " is missing");
  NSError* error = nil;
  MLDictionaryFeatureProvider* made = [[MLDictionaryFeatureProvider alloc] initWithDictionary:values error:&error];
  if (!made) throw failure_of(error, "prediction");
  return made;
}

Tensor read_array(MLMultiArray* array, const std::string& name, bool keep_half) {
  Tensor made;
  made.name = name;
  made.shape = shape_of(array.shape);
  const DType type = dtype_of(array.dataType);
  if (type == DType::none)
    throw Failure("UNSUPPORTED_TENSOR_TYPE", "[coreml] output " + name + " has a type that is not known here");
  made.type = wanted_type(type, keep_half);
  const Shape strides = shape_of(array.strides);
  __block std::unique_ptr<Failure> failure;
  __block std::vector<uint8_t> bytes;
  [array getBytesWithHandler:^(const void* memory, NSInteger size) {
    // No C++ exception may cross the system's frames.
    try {
      if (extent_bytes(made.shape, strides, type) > static_cast<size_t>(size))
        throw Failure("BUG_INVARIANT", "[coreml] output " + name + " is shorter than its strides say");
      bytes = copy_out(memory, type, made.shape, strides, made.type);
    } catch (...) {
      failure = caught();
    }
  }];
  if (failure) throw *failure;
  made.bytes = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  return made;
}

std::vector<Backing> backings_for(MLModelDescription* description, const Interface& interface) {
  std::vector<Backing> made;
  for (const Feature& feature : interface.outputs) {
    if (feature.type == DType::none || feature.shape.empty() || !feature.shapes.empty() || !feature.ranges.empty())
      continue;
    const size_t bytes = static_cast<size_t>(element_count(feature.shape)) * byte_width(feature.type);
    if (bytes < kBackingBytes) continue;
    void* memory = nullptr;
    if (posix_memalign(&memory, kPage, (bytes + kPage - 1) / kPage * kPage) != 0) continue;
    NSError* error = nil;
    MLMultiArray* array = [[MLMultiArray alloc] initWithDataPointer:memory
                                                              shape:numbers_of(feature.shape)
                                                           dataType:data_type_of(feature.type)
                                                            strides:numbers_of(dense_strides(feature.shape))
                                                        deallocator:^(void* held) {
                                                          std::free(held);
                                                        }
                                                              error:&error];
    if (!array) {
      std::free(memory);
      continue;
    }
    MLFeatureDescription* output = description.outputDescriptionsByName[string_of(feature.name)];
    if (![output isAllowedValue:[MLFeatureValue featureValueWithMultiArray:array]]) continue;
    made.push_back({feature.name, array});
  }
  return made;
}

MLPredictionOptions* options_with(const std::vector<Backing>& backings) {
  MLPredictionOptions* options = [[MLPredictionOptions alloc] init];
  if (backings.empty()) return options;
  NSMutableDictionary<NSString*, id>* proposed = [[NSMutableDictionary alloc] init];
  for (const Backing& backing : backings) proposed[string_of(backing.name)] = backing.array;
  options.outputBackings = proposed;
  return options;
}

void read_outputs(id<MLFeatureProvider> result, const Interface& interface, const std::vector<Backing>& backings,
                  bool keep_half, Prediction& into) {
  for (const Feature& feature : interface.outputs) {
    MLMultiArray* array = [result featureValueForName:string_of(feature.name)].multiArrayValue;
    if (!array) throw Failure("UNSUPPORTED_TENSOR_TYPE", "[coreml] output " + feature.name + " is not an array");
    for (const Backing& backing : backings)
      if (backing.array == array) into.backings_used++;
    into.outputs.push_back(read_array(array, feature.name, keep_half));
  }
}

}  // namespace rlx::coreml
