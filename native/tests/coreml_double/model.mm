// Compile, load, predict, state. A compiled model is a folder with a copy of the package; numbers
// come from the evaluator.
#import "model.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace files = std::filesystem;
using namespace coreml_double;

// --------------------------------------------------------------------------------- state

@interface MLState () {
 @public
  std::shared_ptr<Loaded> model_;
  std::map<std::string, Tensor> buffers_;
  std::atomic<bool> busy_;
}
@end
@implementation MLState
- (void)getMultiArrayForStateNamed:(NSString*)name handler:(void(NS_NOESCAPE ^)(MLMultiArray*))handler {
  const auto found = buffers_.find(text_of(name));
  if (found == buffers_.end()) raise("the model has no state named " + text_of(name));
  if (busy_) {
    std::fprintf(stderr, "coreml double: a state was touched while a prediction used it\n");
    std::abort();
  }
  // A view at another address each time, gone after the block.
  Tensor& tensor = found->second;
  std::vector<uint8_t> view = tensor.bytes;
  NSMutableArray<NSNumber*>* strides = [NSMutableArray new];
  int64_t step = product(tensor.shape);
  for (int64_t dim : tensor.shape) [strides addObject:@(static_cast<long long>(step /= dim))];
  @autoreleasepool {
    MLMultiArray* buffer = [[MLMultiArray alloc] initWithDataPointer:view.data()
                                                               shape:numbers_of(tensor.shape)
                                                            dataType:data_type(tensor.type)
                                                             strides:strides
                                                         deallocator:nil
                                                               error:nil];
    handler(buffer);
  }
  tensor.bytes = std::move(view);
}
@end

// --------------------------------------------------------------------------------- model

@interface MLModel () {
 @public
  std::shared_ptr<Loaded> loaded_;
  Interface interface_;
}
@end

static std::string described(MLModelConfiguration* configuration) {
  MLOptimizationHints* hints = configuration.optimizationHints;
  return "units=" + std::to_string(configuration.computeUnits) +
         " low-precision=" + std::to_string(configuration.allowLowPrecisionAccumulationOnGPU) +
         " function=" + (configuration.functionName ? text_of(configuration.functionName) : "") +
         " title=" + (configuration.modelDisplayName ? text_of(configuration.modelDisplayName) : "") +
         " reshape=" + std::to_string(hints ? hints.reshapeFrequency : 0) +
         " strategy=" + std::to_string(hints ? hints.specializationStrategy : 0);
}

// As the compiler of the Neural Engine does: words on standard error, and a number in the error.
static bool refuses(const std::string& wanted, const Loaded& loaded, const std::string& function) {
  const auto found = loaded.spec.functions.find(function);
  if (wanted.empty() || found == loaded.spec.functions.end()) return false;
  std::istringstream types(wanted);
  for (std::string type; std::getline(types, type, '+');) {
    const auto& operations = found->second.block.operations;
    if (std::none_of(operations.begin(), operations.end(),
                     [&](const Operation& one) { return one.type.substr(one.type.rfind('.') + 1) == type; }))
      return false;
  }
  std::fprintf(stderr,
               "E5RT encountered an STL exception. msg = MILCompilerForANE error: failed to compile ANE model using "
               "ANEF. Error=_ANECompiler : ANECCompile() FAILED.\n");
  return true;
}

static MLModel* open_model(std::shared_ptr<Loaded> loaded, MLModelConfiguration* configuration, NSError** error) {
  const Behaviour played = behaviour();
  note_configuration(described(configuration));
  sleep_ms(played.load_ms);
  if (act_out(played.load, "load")) {
    *error =
        error_of(MLModelErrorGeneric,
                 "Error in declaring network or loading its resources: the ANE compiler did not accept the program");
    return nil;
  }
  NSString* wanted = configuration.functionName;
  const bool ane =
      configuration.computeUnits == MLComputeUnitsAll || configuration.computeUnits == MLComputeUnitsCPUAndNeuralEngine;
  if (ane && refuses(played.refuse, *loaded, wanted ? text_of(wanted) : loaded->spec.default_function)) {
    *error =
        error_of(MLModelErrorGeneric, "Failed to build the model execution plan using a model architecture file '" +
                                          loaded->folder + "/model.mil' with error code: -14.");
    return nil;
  }
  const std::string name = wanted ? text_of(wanted) : loaded->spec.default_function;
  const Interface* interface = loaded->spec.interface_of(name);
  if (!interface) {
    *error = error_of(MLModelErrorParameters, "The function " + name + " does not exist in the model");
    return nil;
  }
  if (played.major < 15 && (loaded->spec.multifunction || !interface->states.empty())) {
    *error = error_of(MLModelErrorGeneric, "The model needs a newer specification version than this system reads");
    return nil;
  }
  MLModel* made = [MLModel new];
  made->loaded_ = std::move(loaded);
  made->interface_ = *interface;
  return made;
}

static MLMultiArray* result_array(const Tensor& tensor, const Feature& feature, MLPredictionOptions* options,
                                  NSError** error) {
  MLMultiArray* proposed = options.outputBackings[string_of(tensor.name)];
  if (proposed != nil) {
    if (type_name(proposed.dataType) != feature.type || proposed->shape_ != tensor.shape) {
      *error = error_of(MLModelErrorGeneric, "The output backing of " + tensor.name + " has the wrong shape or type");
      return nil;
    }
    if (behaviour().backings) {
      fill(proposed, tensor.bytes);
      count_backing();
      return proposed;
    }
  }
  MLMultiArray* made = new_array(tensor.shape, data_type(tensor.type), behaviour().pad);
  fill(made, tensor.bytes);
  return made;
}

static bool read_input(const Feature& feature, MLFeatureValue* value, Request& into, NSError** error) {
  MLMultiArray* array = value.multiArrayValue;
  if (array == nil) {
    if (feature.optional) return true;
    *error = error_of(MLModelErrorFeatureType, "Feature " + feature.name + " is required but not specified.");
    return false;
  }
  if (!feature.shape.empty() && array->shape_.size() != feature.shape.size())
    raise("MultiArray of " + feature.name + " has rank " + std::to_string(array->shape_.size()) + ", expected " +
          std::to_string(feature.shape.size()));
  if (type_name(array.dataType) != feature.type) {
    *error = error_of(MLModelErrorFeatureType, "MultiArray of " + feature.name + " has type " +
                                                   type_name(array.dataType) + ", expected " + feature.type);
    return false;
  }
  if (!allows(feature, array->shape_)) {
    *error = error_of(MLModelErrorGeneric, "MultiArray shape " + shape_text(array->shape_) + " of " + feature.name +
                                               " does not match the shape " + shape_text(feature.shape) +
                                               " specified in the model description");
    return false;
  }
  into.inputs.push_back({feature.name, feature.type, array->shape_, dense(array)});
  return true;
}

static NSDictionary<NSString*, id>* predict(MLModel* model, id<MLFeatureProvider> features, MLState* state,
                                            MLPredictionOptions* options, NSError** error) {
  const Behaviour played = behaviour();
  if (played.predict == "cancelled") {
    *error = error_of(MLModelErrorPredictionCancelled, "The prediction was cancelled.");
    return nil;
  }
  if (act_out(played.predict, "prediction")) {
    *error = error_of(MLModelErrorGeneric, "Unable to compute the prediction using ML Program. It can be an invalid "
                                           "input data or broken/unsupported model.");
    return nil;
  }
  sleep_ms(played.predict_ms);
  Request request{model->loaded_->folder, model->interface_.name, {}, {}};
  for (const Feature& feature : model->interface_.inputs)
    if (!read_input(feature, [features featureValueForName:string_of(feature.name)], request, error)) return nil;
  if (state != nil)
    for (const auto& [name, tensor] : state->buffers_) request.states.push_back(tensor);
  else
    for (const Feature& held : model->interface_.states)
      request.states.push_back(
          {held.name, held.type, held.shape,
           std::vector<uint8_t>(static_cast<size_t>(product(held.shape)) * byte_width(data_type(held.type)))});
  Reply reply = evaluate(request);
  if (!reply.error.empty()) {
    *error = error_of(MLModelErrorGeneric, reply.error);
    return nil;
  }
  if (state != nil)
    for (Tensor& tensor : reply.states) state->buffers_[tensor.name] = std::move(tensor);
  NSMutableDictionary<NSString*, id>* made = [NSMutableDictionary new];
  for (const Feature& feature : model->interface_.outputs) {
    const auto found = std::find_if(reply.outputs.begin(), reply.outputs.end(),
                                    [&](const Tensor& one) { return one.name == feature.name; });
    const Tensor zeros{
        feature.name, feature.type, feature.shape,
        std::vector<uint8_t>(static_cast<size_t>(product(feature.shape)) * byte_width(data_type(feature.type)))};
    MLMultiArray* array = result_array(found == reply.outputs.end() ? zeros : *found, feature, options, error);
    if (array == nil) return nil;
    made[string_of(feature.name)] = [MLFeatureValue featureValueWithMultiArray:array];
  }
  return made;
}

// One prediction, alone with its state.
static id<MLFeatureProvider> predict_once(MLModel* model, id<MLFeatureProvider> features, MLState* state,
                                          MLPredictionOptions* options, NSError** error) {
  if (state != nil && state->busy_.exchange(true)) {
    std::fprintf(stderr, "coreml double: two predictions share a state\n");
    std::abort();
  }
  struct Running {
    MLState* state;
    explicit Running(MLState* held) : state(held) { count_prediction(1); }
    ~Running() {
      count_prediction(-1);
      if (state != nil) state->busy_ = false;
    }
  } running(state);
  NSError* problem = nil;
  NSDictionary<NSString*, id>* made = predict(model, features, state, options, &problem);
  if (made == nil) {
    if (error) *error = problem;
    return nil;
  }
  return [[MLDictionaryFeatureProvider alloc] initWithDictionary:made error:nil];
}

@implementation MLModel
- (MLModelDescription*)modelDescription {
  MLModelDescription* made = [MLModelDescription new];
  made->interface_ = interface_;
  return made;
}

+ (void)compileModelAtURL:(NSURL*)url completionHandler:(void (^)(NSURL*, NSError*))handler {
  needs(13, 0, "+[MLModel compileModelAtURL:completionHandler:]");
  if (behaviour().compile == "throw") act_out("throw", "compile");  // in the caller: nothing could catch it elsewhere
  void (^kept)(NSURL*, NSError*) = handler;
  const std::string package = text_of(url.path);
  on_other_thread([kept, package] {
    const Behaviour played = behaviour();
    if (played.noise) {
      static const char words[] = "coremlc: compiling the model\n";
      if (write(1, words, sizeof words - 1) < 0) std::abort();
    }
    sleep_ms(played.compile_ms);
    if (act_out(played.compile, "compile"))
      return kept(nil, error_of(MLModelErrorGeneric, "Failed to parse the model specification. Error: Unable to parse "
                                                     "ML Program: at unknown location: Unknown opset 'CoreML99'."));
    try {
      read_spec(bytes_of(package + "/" + kModel));
      // The caller moves the folder as a whole, so nothing may be left around it.
      const std::string made = temporary_folder(), folder = made + ".mlmodelc";
      files::rename(made, folder);
      files::copy(package, folder, files::copy_options::recursive);
      std::ofstream(folder + "/coremldata.bin") << "double";
      kept([NSURL fileURLWithPath:string_of(folder)], nil);
    } catch (const SpecError& problem) {
      kept(nil,
           error_of(MLModelErrorIO, std::string("Error reading protobuf spec. validator error: ") + problem.what()));
    }
  });
}

+ (void)loadContentsOfURL:(NSURL*)url
            configuration:(MLModelConfiguration*)configuration
        completionHandler:(void (^)(MLModel*, NSError*))handler {
  if (behaviour().load == "throw") act_out("throw", "load");
  void (^kept)(MLModel*, NSError*) = handler;
  MLModelConfiguration* copied = [configuration copy];
  const std::string folder = text_of(url.path);
  on_other_thread([kept, copied, folder] {
    NSError* error = nil;
    MLModel* model = nil;
    try {
      model = open_model(load_folder(folder), copied, &error);
    } catch (const SpecError& problem) {
      error = error_of(MLModelErrorIO, problem.what());
    }
    kept(model, error);
  });
}

+ (void)loadModelAsset:(MLModelAsset*)asset
         configuration:(MLModelConfiguration*)configuration
     completionHandler:(void (^)(MLModel*, NSError*))handler {
  needs(13, 0, "+[MLModel loadModelAsset:configuration:completionHandler:]");
  if (behaviour().load == "throw") act_out("throw", "load");
  void (^kept)(MLModel*, NSError*) = handler;
  MLModelConfiguration* copied = [configuration copy];
  on_other_thread([kept, copied, asset] {
    NSError* error = nil;
    MLModel* model = open_model(asset->loaded_, copied, &error);
    kept(model, error);
  });
}

- (id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)input
                                        options:(MLPredictionOptions*)options
                                          error:(NSError**)error {
  return predict_once(self, input, nil, options, error);
}
- (void)predictionFromFeatures:(id<MLFeatureProvider>)input
                       options:(MLPredictionOptions*)options
             completionHandler:(void (^)(id<MLFeatureProvider>, NSError*))handler {
  needs(14, 0, "-[MLModel predictionFromFeatures:options:completionHandler:]");
  if (behaviour().predict == "throw") act_out("throw", "prediction");
  void (^kept)(id<MLFeatureProvider>, NSError*) = handler;
  on_other_thread([self, input, options, kept] {
    NSError* error = nil;
    id<MLFeatureProvider> made = predict_once(self, input, nil, options, &error);
    kept(made, error);
  });
}
- (id<MLBatchProvider>)predictionsFromBatch:(id<MLBatchProvider>)batch
                                    options:(MLPredictionOptions*)options
                                      error:(NSError**)error {
  NSMutableArray<id<MLFeatureProvider>>* made = [NSMutableArray new];
  MLPredictionOptions* plain = [MLPredictionOptions new];  // backings are ignored in batches
  for (NSInteger i = 0; i < batch.count; i++) {
    id<MLFeatureProvider> one = predict_once(self, [batch featuresAtIndex:i], nil, plain, error);
    if (one == nil) return nil;
    [made addObject:one];
  }
  return [[MLArrayBatchProvider alloc] initWithFeatureProviderArray:made];
}
- (MLState*)newState {
  needs(15, 0, "-[MLModel newState]");
  MLState* made = [MLState alloc];
  made->model_ = loaded_;
  for (const Feature& held : interface_.states)
    made->buffers_[held.name] = {
        held.name, held.type, held.shape,
        std::vector<uint8_t>(static_cast<size_t>(product(held.shape)) * byte_width(data_type(held.type)))};
  return made;
}
- (id<MLFeatureProvider>)predictionFromFeatures:(id<MLFeatureProvider>)input
                                     usingState:(MLState*)state
                                        options:(MLPredictionOptions*)options
                                          error:(NSError**)error {
  needs(15, 0, "-[MLModel predictionFromFeatures:usingState:options:error:]");
  return predict_once(self, input, state, options, error);
}
- (void)predictionFromFeatures:(id<MLFeatureProvider>)input
                    usingState:(MLState*)state
                       options:(MLPredictionOptions*)options
             completionHandler:(void (^)(id<MLFeatureProvider>, NSError*))handler {
  needs(15, 0, "-[MLModel predictionFromFeatures:usingState:options:completionHandler:]");
  if (behaviour().predict == "throw") act_out("throw", "prediction");
  void (^kept)(id<MLFeatureProvider>, NSError*) = handler;
  on_other_thread([self, input, state, options, kept] {
    NSError* error = nil;
    id<MLFeatureProvider> made = predict_once(self, input, state, options, &error);
    kept(made, error);
  });
}
@end
