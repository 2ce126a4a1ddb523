#import "tensors.h"

#include <filesystem>

#include "strided.h"
#include "turnstile.h"

// Models and their states: loaded, predicted with, waiting or not, one state at a time.
namespace rlx::coreml {
namespace {

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
  void view(const std::string& name, const std::function<void(MLMultiArray*)>& use);

  std::shared_ptr<LoadedModel> model_;
  id state_;  // MLState, which older SDKs do not name
  Turnstile turnstile_;
};

// ---------------------------------------------------------------------------------- model

class LoadedModel final : public Model {
 public:
  LoadedModel(MLModel* model, double seconds) : model_(model), load_seconds_(seconds) {
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
      return guarded(
          "load", [&]() -> std::shared_ptr<State> { return std::make_shared<HeldState>(self(), [model_ newState]); });
    }
    throw Failure("ENV_NO_DEVICE", "[coreml] states need macOS 15");
  }

  Prediction predict(const std::vector<Tensor>& inputs, const std::shared_ptr<State>& state,
                     const PredictOptions& options) override {
    const auto start = std::chrono::steady_clock::now();
    auto held = std::static_pointer_cast<HeldState>(state);
    std::unique_ptr<Pass> pass = held ? std::make_unique<Pass>(held->turnstile()) : nullptr;
    throw_if_cancelled(options.cancel);
    return guarded("prediction", [&] {
      Prediction made;
      id<MLFeatureProvider> features = provider_of(inputs, interface_);
      const std::vector<Backing> backings = backings_for(description_, interface_);
      MLPredictionOptions* proposal = options_with(backings);
      NSError* error = nil;
      id<MLFeatureProvider> result = nil;
      const auto inside = std::chrono::steady_clock::now();
      if (!held)
        result = [model_ predictionFromFeatures:features options:proposal error:&error];
      else if (@available(macOS 15.0, *))
        result = [model_ predictionFromFeatures:features
                                     usingState:(MLState*)held->state()
                                        options:proposal
                                          error:&error];
      made.system_seconds = seconds_since(inside);
      if (!result) throw failure_of(error, "prediction");
      read_outputs(result, interface_, backings, options.keep_half, made);
      made.seconds = seconds_since(start);
      return made;
    });
  }

  void predict_async(std::vector<Tensor> inputs, std::shared_ptr<State> state, PredictOptions options,
                     Done done) override {
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

  std::vector<Prediction> predict_batch(const std::vector<std::vector<Tensor>>& items,
                                        const PredictOptions& options) override {
    throw_if_cancelled(options.cancel);
    return guarded("prediction", [&] {
      const auto start = std::chrono::steady_clock::now();
      NSMutableArray<id<MLFeatureProvider>>* batch = [NSMutableArray array];
      for (const auto& inputs : items) [batch addObject:provider_of(inputs, interface_)];
      NSError* error = nil;
      id<MLBatchProvider> result =
          [model_ predictionsFromBatch:[[MLArrayBatchProvider alloc] initWithFeatureProviderArray:batch]
                               options:[[MLPredictionOptions alloc] init]
                                 error:&error];
      if (!result) throw failure_of(error, "prediction");
      const double inside = seconds_since(start);
      std::vector<Prediction> made(items.size());
      for (size_t i = 0; i < made.size(); i++) {
        read_outputs([result featuresAtIndex : static_cast<NSInteger>(i)], interface_, {}, options.keep_half, made[i]);
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
      MLPredictionOptions* proposal = options_with(*backings);
      auto me = self();
      const bool keep_half = options.keep_half;
      const auto inside = std::chrono::steady_clock::now();
      void (^handler)(id<MLFeatureProvider>, NSError*) = ^(id<MLFeatureProvider> result, NSError* error) {
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
        if (@available(macOS 14.0, *))
          [model_ predictionFromFeatures:features options:proposal completionHandler:handler];
      } else if (@available(macOS 15.0, *)) {
        [model_ predictionFromFeatures:features
                            usingState:(MLState*)held->state()
                               options:proposal
                     completionHandler:handler];
      }
    });
  }

  MLModel* model_;
  MLModelDescription* description_;
  Interface interface_;
  double load_seconds_;
};

// A view is valid inside the block only, and only while nothing predicts: the turnstile sees to
// that.
void HeldState::view(const std::string& name, const std::function<void(MLMultiArray*)>& use) {
  if (!find(model_->interface().states, name)) throw Failure("INPUT_ARGUMENT", "[coreml] there is no state " + name);
  Pass pass(turnstile_);
  std::unique_ptr<Failure> failure;
  auto* problem = &failure;
  guarded("state", [&] {
    if (@available(macOS 15.0, *))
      [(MLState*)state_ getMultiArrayForStateNamed:string_of(name)
                                           handler:^(MLMultiArray* buffer) {
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
  view(name, [&](MLMultiArray* buffer) { made = read_array(buffer, name, keep_half); });
  return made;
}

void HeldState::write(const Tensor& tensor) {
  view(tensor.name, [&](MLMultiArray* buffer) {
    const Shape shape = shape_of(buffer.shape);
    const DType type = dtype_of(buffer.dataType);
    if ((!tensor.shape.empty() && tensor.shape != shape) ||
        tensor.bytes->size() != static_cast<size_t>(element_count(shape)) * byte_width(tensor.type))
      throw Failure("INPUT_ARGUMENT", "[coreml] state " + tensor.name + ": got " + shape_text(tensor.shape) +
                                          ", expected " + shape_text(shape));
    std::unique_ptr<Failure> failure;
    auto* problem = &failure;
    [buffer getMutableBytesWithHandler:^(void* memory, NSInteger size, NSArray<NSNumber*>* strides) {
      try {
        const Shape steps = shape_of(strides);  // those of the block: the memory may have changed
        if (extent_bytes(shape, steps, type) > static_cast<size_t>(size))
          throw Failure("BUG_INVARIANT", "[coreml] a state is shorter than its strides say");
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

std::shared_ptr<Model> loaded(const Cancel& cancel, const std::function<void(void (^)(MLModel*, NSError*))>& begin) {
  throw_if_cancelled(cancel);
  const auto start = std::chrono::steady_clock::now();
  MLModel* model = guarded("load", [&] {
    auto answer = std::make_shared<Answer<MLModel*>>();
    begin(^(MLModel* made, NSError* error) {
      answer->give(made, made ? nullptr : std::make_unique<Failure>(failure_of(error, "load")));
    });
    return answer->wait(cancel);
  });
  return std::make_shared<LoadedModel>(model, seconds_since(start));
}

NSData* mapped(const std::string& path) {
  NSError* error = nil;
  NSData* made = [NSData dataWithContentsOfFile:string_of(path) options:NSDataReadingMappedIfSafe error:&error];
  if (!made) throw failure_of(error, "load");
  return made;
}

}  // namespace

std::shared_ptr<Model> Model::load(const std::string& compiled, const LoadOptions& options, const Cancel& cancel) {
  if (!std::filesystem::exists(compiled)) throw Failure("INPUT_NOT_FOUND", "[coreml] load: there is no " + compiled);
  return loaded(cancel, [&](void (^handler)(MLModel*, NSError*)) {
    [MLModel loadContentsOfURL:url_of(compiled) configuration:configuration_of(options) completionHandler:handler];
  });
}

std::shared_ptr<Model> Model::load_in_memory(const std::string& package, const LoadOptions& options,
                                             const Cancel& cancel) {
  return loaded(cancel, [&](void (^handler)(MLModel*, NSError*)) {
    const std::string folder = package + "/Data/com.apple.CoreML/", weights = folder + "weights/weight.bin";
    NSData* program = mapped(folder + "model.mlmodel");
    NSError* error = nil;
    MLModelAsset* asset = nil;
    if (!std::filesystem::exists(weights)) {
      asset = [MLModelAsset modelAssetWithSpecificationData:program error:&error];
    } else if (@available(macOS 15.0, *)) {
      NSMutableDictionary<NSURL*, NSData*>* blobs = [[NSMutableDictionary alloc] init];
      blobs[url_of(weights)] = mapped(weights);
      asset = [MLModelAsset modelAssetWithSpecificationData:program blobMapping:blobs error:&error];
    } else {
      throw Failure("ENV_NO_DEVICE", "[coreml] weights without a file need macOS 15");
    }
    if (!asset) throw failure_of(error, "load");
    [MLModel loadModelAsset:asset configuration:configuration_of(options) completionHandler:handler];
  });
}

}  // namespace rlx::coreml
