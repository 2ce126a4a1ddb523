#import "objc.h"

// Errors with codes, and the small conversions between the two worlds.
namespace rlx::coreml {
namespace {

// Error codes for Core ML's errors. Most come as Generic with the reason in words.
const char* code_of(NSInteger number, const char* stage) {
  switch (number) {
    case MLModelErrorPredictionCancelled: return "CANCELLED";
    case MLModelErrorFeatureType:
    case MLModelErrorParameters: return "INPUT_ARGUMENT";
    case MLModelErrorIO: return "INPUT_UNREADABLE";
    default: break;
  }
  const std::string name = stage;
  if (name == "compile") return "COREML_COMPILE";
  if (name == "load") return "COREML_LOAD";
  if (name == "plan") return "COREML_PLAN";
  return "COREML_PREDICT";
}

}  // namespace

Failure failure_of(NSError* error, const char* stage) {
  if (!error) return Failure("BUG_INVARIANT", std::string("[coreml] ") + stage + ": neither a result nor an error");
  const bool ours = [error.domain isEqualToString:MLModelErrorDomain];
  const bool file =
      [error.domain isEqualToString:NSCocoaErrorDomain] || [error.domain isEqualToString:NSPOSIXErrorDomain];
  std::string message = std::string("[coreml] ") + stage + ": " + text_of(error.localizedDescription);
  id under = error.userInfo[NSUnderlyingErrorKey];
  if ([under isKindOfClass:[NSError class]]) message += " (" + text_of(((NSError*)under).localizedDescription) + ")";
  return Failure(file ? "INPUT_UNREADABLE" : code_of(ours ? error.code : 0, stage), message, text_of(error.domain),
                 static_cast<long>(error.code));
}

Failure failure_of(NSException* exception, const char* stage) {
  return Failure("COREML_EXCEPTION",
                 std::string("[coreml] ") + stage + ": " + text_of(exception.name) + ": " + text_of(exception.reason),
                 "NSException");
}

DType dtype_of(MLMultiArrayDataType type) {
  // Int8 has a name from the 26 SDK on only.
  switch (static_cast<NSInteger>(type)) {
    case MLMultiArrayDataTypeFloat16: return DType::f16;
    case MLMultiArrayDataTypeFloat32: return DType::f32;
    case MLMultiArrayDataTypeDouble: return DType::f64;
    case MLMultiArrayDataTypeInt32: return DType::i32;
    case 0x20008: return DType::i8;
    default: return DType::none;
  }
}

MLMultiArrayDataType data_type_of(DType type) {
  switch (type) {
    case DType::f16: return MLMultiArrayDataTypeFloat16;
    case DType::f32: return MLMultiArrayDataTypeFloat32;
    case DType::f64: return MLMultiArrayDataTypeDouble;
    case DType::i32: return MLMultiArrayDataTypeInt32;
    case DType::i8: return static_cast<MLMultiArrayDataType>(0x20008);
    case DType::none: break;
  }
  throw Failure("UNSUPPORTED_TENSOR_TYPE", "[coreml] this feature is not an array");
}

Shape shape_of(NSArray<NSNumber*>* numbers) {
  Shape made;
  for (NSNumber* number in numbers) made.push_back(number.longLongValue);
  return made;
}

NSArray<NSNumber*>* numbers_of(const Shape& shape) {
  NSMutableArray<NSNumber*>* made = [NSMutableArray array];
  for (int64_t dim : shape) [made addObject:@(static_cast<long long>(dim))];
  return made;
}

MLModelConfiguration* configuration_of(const LoadOptions& options) {
  MLModelConfiguration* made = [[MLModelConfiguration alloc] init];
  switch (options.units) {
    case Units::cpu: made.computeUnits = MLComputeUnitsCPUOnly; break;
    case Units::cpu_gpu: made.computeUnits = MLComputeUnitsCPUAndGPU; break;
    case Units::all: made.computeUnits = MLComputeUnitsAll; break;
    case Units::cpu_ane: made.computeUnits = MLComputeUnitsCPUAndNeuralEngine; break;
  }
  // Halves are summed in singles on the GPU: faster is not worth wrong.
  made.allowLowPrecisionAccumulationOnGPU = NO;
  if (!options.title.empty()) made.modelDisplayName = string_of(options.title);
  if (options.infrequent_reshape || options.fast_prediction) {
    if (@available(macOS 14.4, *)) {
      MLOptimizationHints* hints = [[MLOptimizationHints alloc] init];
      if (options.infrequent_reshape) hints.reshapeFrequency = MLReshapeFrequencyHintInfrequent;
      if (@available(macOS 15.0, *)) {
        if (options.fast_prediction) hints.specializationStrategy = MLSpecializationStrategyFastPrediction;
      }
      made.optimizationHints = hints;
    }
  }
  if (!options.function.empty()) {
    if (@available(macOS 15.0, *))
      made.functionName = string_of(options.function);
    else
      throw Failure("ENV_NO_DEVICE", "[coreml] several functions in one model need macOS 15");
  }
  return made;
}

}  // namespace rlx::coreml
