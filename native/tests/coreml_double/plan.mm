// Structure and compute plan: the operations of the model, a device for each by a rule of thumb,
// nothing for constants.
#import <Metal/Metal.h>

#include <thread>

#import "model.h"

using namespace coreml_double;

// ------------------------------------------------------------------------------- devices

@interface DoubleGpu : NSObject <MTLDevice>
@end
@implementation DoubleGpu
- (NSString*)name {
  return @"Apple M3 Pro";
}
- (BOOL)hasUnifiedMemory {
  return YES;
}
- (uint64_t)recommendedMaxWorkingSetSize {
  return 18ull << 30;
}
@end
id<MTLDevice> MTLCreateSystemDefaultDevice(void) { return [DoubleGpu new]; }

@implementation MLCPUComputeDevice
@end
@implementation MLGPUComputeDevice
- (id<MTLDevice>)metalDevice {
  return MTLCreateSystemDefaultDevice();
}
@end
@implementation MLNeuralEngineComputeDevice
- (NSInteger)totalCoreCount {
  return 16;
}
@end
NSArray<id<MLComputeDeviceProtocol>>* MLAllComputeDevices(void) {
  needs(14, 0, "MLAllComputeDevices");
  NSMutableArray<id<MLComputeDeviceProtocol>>* made = [NSMutableArray new];
  [made addObject:[MLCPUComputeDevice new]];
  [made addObject:[MLGPUComputeDevice new]];
  if (behaviour().ane) [made addObject:[MLNeuralEngineComputeDevice new]];
  return made;
}

// ----------------------------------------------------------------------------- structure

@implementation MLModelStructureProgramValueType
@end
@implementation MLModelStructureProgramNamedValueType {
 @public
  std::string name_;
}
- (NSString*)name {
  return string_of(name_);
}
- (MLModelStructureProgramValueType*)type {
  return [MLModelStructureProgramValueType new];  // opaque, as it is on a Mac
}
@end

@interface MLModelStructureProgramBlock () {
 @public
  Block block_;
  std::string opset_, function_;
}
@end
@implementation MLModelStructureProgramOperation {
 @public
  Operation operation_;
  std::string opset_, function_;
}
- (NSString*)operatorName {
  return string_of(operation_.type == "const" ? "const" : opset_ + "." + operation_.type);
}
- (NSArray<MLModelStructureProgramNamedValueType*>*)outputs {
  NSMutableArray<MLModelStructureProgramNamedValueType*>* made = [NSMutableArray new];
  for (const std::string& name : operation_.outputs) {
    MLModelStructureProgramNamedValueType* one = [MLModelStructureProgramNamedValueType new];
    one->name_ = name;
    [made addObject:one];
  }
  return made;
}
- (NSArray<MLModelStructureProgramBlock*>*)blocks {
  NSMutableArray<MLModelStructureProgramBlock*>* made = [NSMutableArray new];
  for (const Block& block : operation_.blocks) {
    MLModelStructureProgramBlock* one = [MLModelStructureProgramBlock new];
    one->block_ = block;
    one->opset_ = opset_;
    one->function_ = function_;
    [made addObject:one];
  }
  return made;
}
@end
@implementation MLModelStructureProgramBlock
- (NSArray<NSString*>*)outputNames {
  NSMutableArray<NSString*>* made = [NSMutableArray new];
  for (const std::string& name : block_.outputs) [made addObject:string_of(name)];
  return made;
}
- (NSArray<MLModelStructureProgramOperation*>*)operations {
  NSMutableArray<MLModelStructureProgramOperation*>* made = [NSMutableArray new];
  for (const Operation& operation : block_.operations) {
    MLModelStructureProgramOperation* one = [MLModelStructureProgramOperation new];
    one->operation_ = operation;
    one->opset_ = opset_;
    one->function_ = function_;
    [made addObject:one];
  }
  return made;
}
@end
@implementation MLModelStructureProgramFunction {
 @public
  Function function_;
  std::string name_;
}
- (MLModelStructureProgramBlock*)block {
  MLModelStructureProgramBlock* made = [MLModelStructureProgramBlock new];
  made->block_ = function_.block;
  // CoreML5 is ios15, CoreML8 is ios18.
  made->opset_ = "ios" + std::to_string(10 + (function_.opset.size() == 7 ? function_.opset[6] - '0' : 5));
  made->function_ = name_;
  return made;
}
@end
@implementation MLModelStructureProgram {
 @public
  std::shared_ptr<Loaded> loaded_;
}
- (NSDictionary<NSString*, MLModelStructureProgramFunction*>*)functions {
  NSMutableDictionary<NSString*, MLModelStructureProgramFunction*>* made = [NSMutableDictionary new];
  for (const auto& [name, function] : loaded_->spec.functions) {
    MLModelStructureProgramFunction* one = [MLModelStructureProgramFunction new];
    one->function_ = function;
    one->name_ = name;
    made[string_of(name)] = one;
  }
  return made;
}
@end
@implementation MLModelStructure {
 @public
  std::shared_ptr<Loaded> loaded_;
}
- (MLModelStructureProgram*)program {
  MLModelStructureProgram* made = [MLModelStructureProgram new];
  made->loaded_ = loaded_;
  return made;
}
+ (void)loadContentsOfURL:(NSURL*)url completionHandler:(void (^)(MLModelStructure*, NSError*))handler {
  needs(14, 4, "+[MLModelStructure loadContentsOfURL:completionHandler:]");
  void (^kept)(MLModelStructure*, NSError*) = handler;
  const std::string folder = text_of(url.path);
  on_other_thread([kept, folder] {
    MLModelStructure* made = [MLModelStructure new];
    try {
      made->loaded_ = load_folder(folder);
      kept(made, nil);
    } catch (const SpecError& problem) {
      kept(nil, error_of(MLModelErrorIO, problem.what()));
    }
  });
}
@end

// ---------------------------------------------------------------------------------- plan

@implementation MLComputePlanDeviceUsage {
 @public
  MLComputeUnits units_;
  std::string type_;
}
- (NSArray<id<MLComputeDeviceProtocol>>*)supportedComputeDevices {
  NSMutableArray<id<MLComputeDeviceProtocol>>* made = [NSMutableArray new];
  [made addObject:[MLCPUComputeDevice new]];
  if (units_ == MLComputeUnitsAll || units_ == MLComputeUnitsCPUAndGPU) [made addObject:[MLGPUComputeDevice new]];
  const bool eligible = type_ != "gather" && type_ != "argmax" && type_ != "topk";
  if (eligible && behaviour().ane && (units_ == MLComputeUnitsAll || units_ == MLComputeUnitsCPUAndNeuralEngine))
    [made addObject:[MLNeuralEngineComputeDevice new]];
  return made;
}
- (id<MLComputeDeviceProtocol>)preferredComputeDevice {
  if (type_ == "identity") return (id)nil;  // declared never nil, seen nil for operations without weight
  NSArray<id<MLComputeDeviceProtocol>>* supported = self.supportedComputeDevices;
  return supported[supported.count - 1];
}
@end
@implementation MLComputePlanCost {
 @public
  double weight_;
}
- (double)weight {
  return weight_;
}
@end

static long computing(const Block& block) {
  long count = 0;
  for (const Operation& operation : block.operations) {
    if (operation.type != "const" && !operation.type.starts_with("constexpr_")) count++;
    for (const Block& inner : operation.blocks) count += computing(inner);
  }
  return count;
}

@implementation MLComputePlan {
 @public
  std::shared_ptr<Loaded> loaded_;
  MLModelConfiguration* configuration_;
  std::string function_;
}
- (MLModelStructure*)modelStructure {
  MLModelStructure* made = [MLModelStructure new];
  made->loaded_ = loaded_;
  return made;
}
+ (void)loadContentsOfURL:(NSURL*)url
            configuration:(MLModelConfiguration*)configuration
        completionHandler:(void (^)(MLComputePlan*, NSError*))handler {
  needs(14, 4, "+[MLComputePlan loadContentsOfURL:configuration:completionHandler:]");
  void (^kept)(MLComputePlan*, NSError*) = handler;
  MLModelConfiguration* copied = [configuration copy];
  const std::string folder = text_of(url.path);
  on_other_thread([kept, copied, folder] {
    if (act_out(behaviour().plan, "plan"))
      return kept(nil, error_of(MLModelErrorGeneric, "Failed to build the compute plan."));
    MLComputePlan* made = [MLComputePlan new];
    try {
      made->loaded_ = load_folder(folder);
    } catch (const SpecError& problem) {
      return kept(nil, error_of(MLModelErrorIO, problem.what()));
    }
    made->configuration_ = copied;
    made->function_ = copied.functionName ? text_of(copied.functionName) : made->loaded_->spec.default_function;
    kept(made, nil);
  });
}
// A plan is for one function; constants have no usage.
- (bool)computes:(MLModelStructureProgramOperation*)operation {
  return operation->function_ == function_ && operation->operation_.type != "const" &&
         !operation->operation_.type.starts_with("constexpr_");
}
- (MLComputePlanDeviceUsage*)computeDeviceUsageForMLProgramOperation:(MLModelStructureProgramOperation*)operation {
  if (![self computes:operation]) return nil;
  MLComputePlanDeviceUsage* made = [MLComputePlanDeviceUsage new];
  made->units_ = configuration_.computeUnits;
  made->type_ = operation->operation_.type;
  return made;
}
- (MLComputePlanCost*)estimatedCostOfMLProgramOperation:(MLModelStructureProgramOperation*)operation {
  if (![self computes:operation]) return nil;
  MLComputePlanCost* made = [MLComputePlanCost new];
  made->weight_ = 1.0 / static_cast<double>(std::max(1L, computing(loaded_->spec.functions.at(function_).block)));
  return made;
}
@end
