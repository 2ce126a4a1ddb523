#import "objc.h"

#include <cstdlib>
#include <deque>
#include <filesystem>

#include "strided.h"

// Models and their states: typed tensors in, typed tensors out. Input memory is wrapped, not copied, and lives until CoreML
// lets go of it; results are read by their strides, unless CoreML wrote them where we proposed.
namespace rlx::coreml {
namespace {

// Below this a copy costs less than what CoreML does to use a backing.
constexpr size_t kBackingBytes = 16384;
constexpr size_t kPage = 16384;

// One after the other, in order of arrival, without holding a thread.
class Turnstile {
 public:
  void enter(std::function<void()> go) {
    {
      std::lock_guard guard(mutex_);
      if (busy_) return waiting_.push_back(std::move(go));
      busy_ = true;
    }
    go();
  }
  void leave() {
    std::function<void()> next;
    {
      std::lock_guard guard(mutex_);
      if (waiting_.empty()) {
        busy_ = false;
        return;
      }
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    next();
  }
  // For a caller that may wait: inside from here until `leave`.
  void enter_blocking() {
    auto answer = std::make_shared<Answer<bool>>();
    enter([answer] { answer->give(true, nullptr); });
    answer->wait(nullptr);
  }

 private:
  std::mutex mutex_;
  bool busy_ = false;
  std::deque<std::function<void()>> waiting_;
};

struct Pass {
  Turnstile& turnstile;
  explicit Pass(Turnstile& one) : turnstile(one) { turnstile.enter_blocking(); }
  ~Pass() { turnstile.leave(); }
};

// ------------------------------------------------------------------------- descriptions

Feature feature_of(MLFeatureDescription *description) {
  Feature made;
  made.name = text_of(description.name);
  made.optional = description.optional;
  MLMultiArrayConstraint *constraint = description.type == MLFeatureTypeMultiArray ? description.multiArrayConstraint : nil;
  if (!constraint) return made;
  made.type = dtype_of(constraint.dataType);
  made.shape = shape_of(constraint.shape);
  MLMultiArrayShapeConstraint *flexible = constraint.shapeConstraint;
  if (flexible.type == MLMultiArrayShapeConstraintTypeEnumerated)
    for (NSArray<NSNumber *> *shape in flexible.enumeratedShapes) made.shapes.push_back(shape_of(shape));
  if (flexible.type == MLMultiArrayShapeConstraintTypeRange)
    for (NSValue *value in flexible.sizeRangeForDimension) {
      const NSRange range = value.rangeValue;
      // A dim without end has a length near the largest integer.
      const bool endless = range.length > static_cast<NSUInteger>(1) << 48;
      made.ranges.emplace_back(static_cast<int64_t>(range.location), endless ? -1 : static_cast<int64_t>(range.location + range.length - 1));
    }
  return made;
}

Interface interface_of(MLModelDescription *description) {
  Interface made;
  const auto collect = [](NSDictionary<NSString *, MLFeatureDescription *> *from, std::vector<Feature>& into) {
    for (NSString *name in from)
      if (MLFeatureDescription *one = from[name]) into.push_back(feature_of(one));
  };
  collect(description.inputDescriptionsByName, made.inputs);
  collect(description.outputDescriptionsByName, made.outputs);
  if (@available(macOS 15.0, *)) {
    NSDictionary<NSString *, MLFeatureDescription *> *states = description.stateDescriptionsByName;
    for (NSString *name in states) {
      MLStateConstraint *constraint = states[name].stateConstraint;
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

const Feature *find(const std::vector<Feature>& features, const std::string& name) {
  for (const Feature& one : features)
    if (one.name == name) return &one;
  return nullptr;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (int64_t dim : shape) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return "[" + text + "]";
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

// The shape of a tensor that came without one: the feature's own, or the only allowed one with that many elements.
Shape inferred_shape(const Feature& feature, int64_t count) {
  if (element_count(feature.shape) == count) return feature.shape;
  for (const Shape& one : feature.shapes)
    if (element_count(one) == count) return one;
  Shape made = feature.shape;
  int free_dim = -1;
  for (size_t i = 0; i < feature.ranges.size() && i < made.size(); i++) {
    if (feature.ranges[i].first == feature.ranges[i].second) continue;
    if (free_dim >= 0) throw Failure("INPUT_ARGUMENT", "[coreml] input " + feature.name + ": more than one size is free, so a shape must be given");
    free_dim = static_cast<int>(i);
  }
  if (free_dim >= 0) {
    made[static_cast<size_t>(free_dim)] = 1;
    const int64_t rest = element_count(made);
    if (rest > 0 && count % rest == 0) made[static_cast<size_t>(free_dim)] = count / rest;
  }
  return made;
}

// ---------------------------------------------------------------------------- in and out

// Memory of ours as an array of CoreML: the block holds it for as long as the array lives.
MLMultiArray *wrapped(Bytes bytes, const Shape& shape, DType type) {
  NSError *error = nil;
  MLMultiArray *made = [[MLMultiArray alloc] initWithDataPointer:bytes->data()
                                                           shape:numbers_of(shape)
                                                        dataType:data_type_of(type)
                                                         strides:numbers_of(dense_strides(shape))
                                                     deallocator:^(void *) {
                                                       (void)bytes;
                                                     }
                                                           error:&error];
  if (!made) throw failure_of(error, "prediction");
  return made;
}

MLMultiArray *array_of(const Tensor& tensor, const Feature& feature) {
  const size_t width = byte_width(tensor.type);
  const auto count = static_cast<int64_t>(width == 0 ? 0 : tensor.bytes->size() / width);
  const Shape shape = tensor.shape.empty() && !feature.shape.empty() ? inferred_shape(feature, count) : tensor.shape;
  if (!allows(feature, shape))
    throw Failure("INPUT_ARGUMENT", "[coreml] input " + feature.name + ": got " + shape_text(shape) + ", expected " + shape_text(feature.shape));
  if (element_count(shape) != count)
    throw Failure("INPUT_ARGUMENT", "[coreml] input " + feature.name + ": got " + std::to_string(count) + " numbers for " + shape_text(shape));
  if (tensor.type == feature.type) return wrapped(tensor.bytes, shape, feature.type);
  auto converted = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(count) * byte_width(feature.type));
  copy_in(tensor, shape, converted->data(), feature.type, dense_strides(shape));
  return wrapped(converted, shape, feature.type);
}

id<MLFeatureProvider> provider_of(const std::vector<Tensor>& inputs, const Interface& interface) {
  NSMutableDictionary<NSString *, id> *values = [[NSMutableDictionary alloc] init];
  for (const Tensor& tensor : inputs) {
    const Feature *feature = find(interface.inputs, tensor.name);
    if (!feature) throw Failure("INPUT_ARGUMENT", "[coreml] there is no input " + tensor.name);
    values[string_of(tensor.name)] = [MLFeatureValue featureValueWithMultiArray:array_of(tensor, *feature)];
  }
  for (const Feature& feature : interface.inputs)
    if (!feature.optional && !values[string_of(feature.name)]) throw Failure("INPUT_ARGUMENT", "[coreml] input " + feature.name + " is missing");
  NSError *error = nil;
  MLDictionaryFeatureProvider *made = [[MLDictionaryFeatureProvider alloc] initWithDictionary:values error:&error];
  if (!made) throw failure_of(error, "prediction");
  return made;
}

// The type of an output for the caller: halves become singles unless asked otherwise.
DType wanted_type(DType type, bool keep_half) {
  if (type == DType::f64 || (type == DType::f16 && !keep_half)) return DType::f32;
  return type;
}

Tensor read_array(MLMultiArray *array, const std::string& name, bool keep_half) {
  Tensor made;
  made.name = name;
  made.shape = shape_of(array.shape);
  const DType type = dtype_of(array.dataType);
  if (type == DType::none) throw Failure("UNSUPPORTED_TENSOR_TYPE", "[coreml] output " + name + " has a type that is not known here");
  made.type = wanted_type(type, keep_half);
  const Shape strides = shape_of(array.strides);
  __block std::unique_ptr<Failure> failure;
  __block std::vector<uint8_t> bytes;
  [array getBytesWithHandler:^(const void *memory, NSInteger size) {
    // No C++ exception may cross the system's frames.
    try {
      if (extent_bytes(made.shape, strides, type) > static_cast<size_t>(size)) throw Failure("BUG_INVARIANT", "[coreml] output " + name + " is shorter than its strides say");
      bytes = copy_out(memory, type, made.shape, strides, made.type);
    } catch (...) {
      failure = caught();
    }
  }];
  if (failure) throw *failure;
  made.bytes = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  return made;
}

// Memory proposed for outputs of known shape, aligned to pages: CoreML may write there and save a copy.
struct Backing {
  std::string name;
  void *memory;
  DType type;
  Shape shape;
  MLMultiArray *array;
};

std::vector<Backing> backings_for(MLModelDescription *description, const Interface& interface) {
  std::vector<Backing> made;
  for (const Feature& feature : interface.outputs) {
    if (feature.type == DType::none || feature.shape.empty() || !feature.shapes.empty() || !feature.ranges.empty()) continue;
    const size_t bytes = static_cast<size_t>(element_count(feature.shape)) * byte_width(feature.type);
    if (bytes < kBackingBytes) continue;
    void *memory = nullptr;
    if (posix_memalign(&memory, kPage, (bytes + kPage - 1) / kPage * kPage) != 0) continue;
    NSError *error = nil;
    MLMultiArray *array = [[MLMultiArray alloc] initWithDataPointer:memory
                                                              shape:numbers_of(feature.shape)
                                                           dataType:data_type_of(feature.type)
                                                            strides:numbers_of(dense_strides(feature.shape))
                                                        deallocator:^(void *held) {
                                                          std::free(held);
                                                        }
                                                              error:&error];
    if (!array) {
      std::free(memory);
      continue;
    }
    MLFeatureDescription *output = description.outputDescriptionsByName[string_of(feature.name)];
    if (![output isAllowedValue:[MLFeatureValue featureValueWithMultiArray:array]]) continue;
    made.push_back({feature.name, memory, feature.type, feature.shape, array});
  }
  return made;
}

MLPredictionOptions *options_with(const std::vector<Backing>& backings) {
  MLPredictionOptions *options = [[MLPredictionOptions alloc] init];
  if (backings.empty()) return options;
  NSMutableDictionary<NSString *, id> *proposed = [[NSMutableDictionary alloc] init];
  for (const Backing& backing : backings) proposed[string_of(backing.name)] = backing.array;
  options.outputBackings = proposed;
  return options;
}

void read_outputs(id<MLFeatureProvider> result, const Interface& interface, const std::vector<Backing>& backings, bool keep_half, Prediction& into) {
  for (const Feature& feature : interface.outputs) {
    MLMultiArray *array = [result featureValueForName:string_of(feature.name)].multiArrayValue;
    if (!array) throw Failure("UNSUPPORTED_TENSOR_TYPE", "[coreml] output " + feature.name + " is not an array");
    for (const Backing& backing : backings)
      if (backing.array == array) into.backings_used++;
    into.outputs.push_back(read_array(array, feature.name, keep_half));
  }
}

// ---------------------------------------------------------------------------------- state

class LoadedModel;

class HeldState final : public State, public std::enable_shared_from_this<HeldState> {
 public:
  HeldState(std::shared_ptr<LoadedModel> model, id state) : model_(std::move(model)), state_(state) {}

  Tensor read(const std::string& name, bool keep_half) override;
  void write(const Tensor& tensor) override;
  std::shared_ptr<State> copy() override;

  Turnstile& turnstile() { return turnstile_; }
  id state() const { return state_; }

 private:
  void view(const std::string& name, const std::function<void(MLMultiArray *)>& use);

  std::shared_ptr<LoadedModel> model_;
  id state_;  // MLState, which older SDKs do not name
  Turnstile turnstile_;
};

// ---------------------------------------------------------------------------------- model

class LoadedModel final : public Model {
 public:
  LoadedModel(MLModel *model, double seconds) : model_(model), load_seconds_(seconds) {
    guarded("load", [&] {
      description_ = model.modelDescription;
      interface_ = interface_of(description_);
    });
  }

  const Interface& interface() const override { return interface_; }
  double load_seconds() const override { return load_seconds_; }

  std::shared_ptr<LoadedModel> self() { return std::static_pointer_cast<LoadedModel>(shared_from_this()); }

  std::shared_ptr<State> new_state() override {
    if (@available(macOS 15.0, *)) {
      return guarded("load", [&]() -> std::shared_ptr<State> { return std::make_shared<HeldState>(self(), [model_ newState]); });
    }
    throw Failure("ENV_NO_DEVICE", "[coreml] states need macOS 15");
  }

  Prediction predict(const std::vector<Tensor>& inputs, const std::shared_ptr<State>& state, const PredictOptions& options) override {
    const auto start = std::chrono::steady_clock::now();
    auto held = std::static_pointer_cast<HeldState>(state);
    std::unique_ptr<Pass> pass = held ? std::make_unique<Pass>(held->turnstile()) : nullptr;
    throw_if_cancelled(options.cancel);
    return guarded("prediction", [&] {
      Prediction made;
      id<MLFeatureProvider> features = provider_of(inputs, interface_);
      const std::vector<Backing> backings = backings_for(description_, interface_);
      MLPredictionOptions *proposal = options_with(backings);
      NSError *error = nil;
      id<MLFeatureProvider> result = nil;
      const auto inside = std::chrono::steady_clock::now();
      if (!held)
        result = [model_ predictionFromFeatures:features options:proposal error:&error];
      else if (@available(macOS 15.0, *))
        result = [model_ predictionFromFeatures:features usingState:(MLState *)held->state() options:proposal error:&error];
      made.system_seconds = seconds_since(inside);
      if (!result) throw failure_of(error, "prediction");
      read_outputs(result, interface_, backings, options.keep_half, made);
      made.seconds = seconds_since(start);
      return made;
    });
  }

  void predict_async(std::vector<Tensor> inputs, std::shared_ptr<State> state, PredictOptions options, Done done) override {
    auto held = std::static_pointer_cast<HeldState>(state);
    auto me = self();
    const auto start = std::chrono::steady_clock::now();
    auto go = [me, held, start, inputs = std::move(inputs), options, done]() mutable {
      const auto finish = [held, done](std::unique_ptr<Prediction> made, std::unique_ptr<Failure> failure) {
        if (held) held->turnstile().leave();
        done(std::move(made), std::move(failure));
      };
      try {
        throw_if_cancelled(options.cancel);
        me->start(inputs, held, options, start, finish);
      } catch (...) {
        finish(nullptr, caught());
      }
    };
    if (held)
      held->turnstile().enter(std::move(go));
    else
      go();
  }

  std::vector<Prediction> predict_batch(const std::vector<std::vector<Tensor>>& items, const PredictOptions& options) override {
    throw_if_cancelled(options.cancel);
    return guarded("prediction", [&] {
      const auto start = std::chrono::steady_clock::now();
      NSMutableArray<id<MLFeatureProvider>> *batch = [NSMutableArray array];
      for (const auto& inputs : items) [batch addObject:provider_of(inputs, interface_)];
      NSError *error = nil;
      id<MLBatchProvider> result = [model_ predictionsFromBatch:[[MLArrayBatchProvider alloc] initWithFeatureProviderArray:batch]
                                                        options:[[MLPredictionOptions alloc] init]
                                                          error:&error];
      if (!result) throw failure_of(error, "prediction");
      const double inside = seconds_since(start);
      std::vector<Prediction> made(items.size());
      for (size_t i = 0; i < made.size(); i++) {
        read_outputs([result featuresAtIndex:static_cast<NSInteger>(i)], interface_, {}, options.keep_half, made[i]);
        made[i].system_seconds = inside;
        made[i].seconds = seconds_since(start);
      }
      return made;
    });
  }

 private:
  // The asynchronous call of the system where it has one; otherwise the same on this thread.
  void start(const std::vector<Tensor>& inputs, const std::shared_ptr<HeldState>& held, const PredictOptions& options,
             std::chrono::steady_clock::time_point start, const Done& finish) {
    bool asynchronous = false;
    if (@available(macOS 14.0, *)) asynchronous = true;
    if (!asynchronous) return finish(std::make_unique<Prediction>(predict(inputs, nullptr, options)), nullptr);
    guarded("prediction", [&] {
      // Copies of its own for the block, which outlives this call.
      const Done told = finish;
      const auto began = start;
      id<MLFeatureProvider> features = provider_of(inputs, interface_);
      auto backings = std::make_shared<std::vector<Backing>>(backings_for(description_, interface_));
      MLPredictionOptions *proposal = options_with(*backings);
      auto me = self();
      const bool keep_half = options.keep_half;
      const auto inside = std::chrono::steady_clock::now();
      void (^handler)(id<MLFeatureProvider>, NSError *) = ^(id<MLFeatureProvider> result, NSError *error) {
        std::unique_ptr<Prediction> made;
        std::unique_ptr<Failure> failure;
        try {
          if (!result) throw failure_of(error, "prediction");
          made = guarded("prediction", [&] {
            auto one = std::make_unique<Prediction>();
            one->system_seconds = seconds_since(inside);
            read_outputs(result, me->interface_, *backings, keep_half, *one);
            one->seconds = seconds_since(began);
            return one;
          });
        } catch (...) {
          failure = caught();
        }
        told(std::move(made), std::move(failure));
      };
      if (!held) {
        if (@available(macOS 14.0, *)) [model_ predictionFromFeatures:features options:proposal completionHandler:handler];
      } else if (@available(macOS 15.0, *)) {
        [model_ predictionFromFeatures:features usingState:(MLState *)held->state() options:proposal completionHandler:handler];
      }
    });
  }

  MLModel *model_;
  MLModelDescription *description_;
  Interface interface_;
  double load_seconds_;
};

// A view is valid inside the block only, and only while nothing predicts: the turnstile sees to that.
void HeldState::view(const std::string& name, const std::function<void(MLMultiArray *)>& use) {
  if (!find(model_->interface().states, name)) throw Failure("INPUT_ARGUMENT", "[coreml] there is no state " + name);
  Pass pass(turnstile_);
  std::unique_ptr<Failure> failure;
  auto *problem = &failure;
  guarded("state", [&] {
    if (@available(macOS 15.0, *))
      [(MLState *)state_ getMultiArrayForStateNamed:string_of(name)
                                            handler:^(MLMultiArray *buffer) {
                                              try {
                                                use(buffer);
                                              } catch (...) {
                                                *problem = caught();
                                              }
                                            }];
  });
  if (failure) throw *failure;
}

Tensor HeldState::read(const std::string& name, bool keep_half) {
  Tensor made;
  view(name, [&](MLMultiArray *buffer) { made = read_array(buffer, name, keep_half); });
  return made;
}

void HeldState::write(const Tensor& tensor) {
  view(tensor.name, [&](MLMultiArray *buffer) {
    const Shape shape = shape_of(buffer.shape);
    const DType type = dtype_of(buffer.dataType);
    if ((!tensor.shape.empty() && tensor.shape != shape) || tensor.bytes->size() != static_cast<size_t>(element_count(shape)) * byte_width(tensor.type))
      throw Failure("INPUT_ARGUMENT", "[coreml] state " + tensor.name + ": got " + shape_text(tensor.shape) + ", expected " + shape_text(shape));
    std::unique_ptr<Failure> failure;
    auto *problem = &failure;
    [buffer getMutableBytesWithHandler:^(void *memory, NSInteger size, NSArray<NSNumber *> *strides) {
      try {
        const Shape steps = shape_of(strides);  // those of the block: the memory may have changed
        if (extent_bytes(shape, steps, type) > static_cast<size_t>(size)) throw Failure("BUG_INVARIANT", "[coreml] a state is shorter than its strides say");
        copy_in(tensor, shape, memory, type, steps);
      } catch (...) {
        *problem = caught();
      }
    }];
    if (failure) throw *failure;
  });
}

std::shared_ptr<State> HeldState::copy() {
  std::shared_ptr<State> made = model_->new_state();
  for (const Feature& held : model_->interface().states) made->write(read(held.name, true));
  return made;
}

}  // namespace

// ---------------------------------------------------------------------------------- load

namespace {

std::shared_ptr<Model> loaded(const Cancel& cancel, const std::function<void(void (^)(MLModel *, NSError *))>& begin) {
  throw_if_cancelled(cancel);
  const auto start = std::chrono::steady_clock::now();
  MLModel *model = guarded("load", [&] {
    auto answer = std::make_shared<Answer<MLModel *>>();
    begin(^(MLModel *made, NSError *error) {
      answer->give(made, made ? nullptr : std::make_unique<Failure>(failure_of(error, "load")));
    });
    return answer->wait(cancel);
  });
  return std::make_shared<LoadedModel>(model, seconds_since(start));
}

}  // namespace

std::shared_ptr<Model> Model::load(const std::string& compiled, const LoadOptions& options, const Cancel& cancel) {
  if (!std::filesystem::exists(compiled)) throw Failure("INPUT_NOT_FOUND", "[coreml] load: there is no " + compiled);
  return loaded(cancel, [&](void (^handler)(MLModel *, NSError *)) {
    [MLModel loadContentsOfURL:url_of(compiled) configuration:configuration_of(options) completionHandler:handler];
  });
}

std::shared_ptr<Model> Model::load_in_memory(const std::string& package, const LoadOptions& options, const Cancel& cancel) {
  if (@available(macOS 15.0, *)) {
    return loaded(cancel, [&](void (^handler)(MLModel *, NSError *)) {
      const std::string folder = package + "/Data/com.apple.CoreML/";
      NSError *error = nil;
      NSData *program = [NSData dataWithContentsOfFile:string_of(folder + "model.mlmodel") options:NSDataReadingMappedIfSafe error:&error];
      if (!program) throw failure_of(error, "load");
      NSMutableDictionary<NSURL *, NSData *> *blobs = [[NSMutableDictionary alloc] init];
      const std::string weights = folder + "weights/weight.bin";
      if (std::filesystem::exists(weights)) {
        NSData *blob = [NSData dataWithContentsOfFile:string_of(weights) options:NSDataReadingMappedIfSafe error:&error];
        if (!blob) throw failure_of(error, "load");
        blobs[url_of(weights)] = blob;
      }
      MLModelAsset *asset = [MLModelAsset modelAssetWithSpecificationData:program blobMapping:blobs error:&error];
      if (!asset) throw failure_of(error, "load");
      [MLModel loadModelAsset:asset configuration:configuration_of(options) completionHandler:handler];
    });
  }
  throw Failure("ENV_NO_DEVICE", "[coreml] loading without a file needs macOS 15");
}

}  // namespace rlx::coreml
