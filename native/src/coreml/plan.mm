#import "objc.h"

// Where Core ML says it will run what: the operations of every function, nested blocks too, with
// devices and costs.
namespace rlx::coreml {
namespace {

API_AVAILABLE(macos(14.4))
NSString* usage_of_device(id<MLComputeDeviceProtocol> device) {
  if ([device isKindOfClass:[MLNeuralEngineComputeDevice class]]) return @"ane";
  if ([device isKindOfClass:[MLGPUComputeDevice class]]) return @"gpu";
  return @"cpu";
}

struct Walk {
  Plan* plan;
  id compute_plan;  // MLComputePlan, or nil for the structure alone
  std::string function;
};

API_AVAILABLE(macos(14.4))
void walk(const Walk& at, MLModelStructureProgramBlock* block, int depth) {
  for (MLModelStructureProgramOperation* operation in block.operations) {
    PlannedOp made;
    made.function = at.function;
    made.depth = depth;
    const std::string name = text_of(operation.operatorName);
    made.op = name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
    made.output = text_of(operation.outputs.firstObject.name);
    if (at.compute_plan) {
      MLComputePlan* plan = (MLComputePlan*)at.compute_plan;
      if (MLComputePlanDeviceUsage* usage = [plan computeDeviceUsageForMLProgramOperation:operation]) {
        // Declared never nil, and yet seen nil for operations without weight.
        id<MLComputeDeviceProtocol> preferred = usage.preferredComputeDevice;
        if (preferred) made.preferred = text_of(usage_of_device(preferred));
        for (id<MLComputeDeviceProtocol> device in usage.supportedComputeDevices)
          made.supported.push_back(text_of(usage_of_device(device)));
      }
      if (MLComputePlanCost* cost = [plan estimatedCostOfMLProgramOperation:operation]) made.cost = cost.weight;
    }
    at.plan->ops.push_back(made);
    for (MLModelStructureProgramBlock* inner in operation.blocks) walk(at, inner, depth + 1);
  }
}

API_AVAILABLE(macos(14.4))
Plan walked(MLModelStructure* structure, MLComputePlan* compute_plan) {
  Plan made;
  made.has_usage = compute_plan != nil;
  MLModelStructureProgram* program = structure.program;
  if (!program) throw Failure("UNSUPPORTED_TARGET", "[coreml] plan: only ML Programs have one");
  for (NSString* name in program.functions) {
    MLModelStructureProgramFunction* function = program.functions[name];
    if (function) walk({&made, compute_plan, text_of(name)}, function.block, 0);
  }
  return made;
}

}  // namespace

Plan compute_plan(const std::string& compiled, const LoadOptions& options, const Cancel& cancel) {
  if (@available(macOS 14.4, *)) {
    return guarded("plan", [&] {
      auto answer = std::make_shared<Answer<MLComputePlan*>>();
      [MLComputePlan loadContentsOfURL:url_of(compiled)
                         configuration:configuration_of(options)
                     completionHandler:^(MLComputePlan* plan, NSError* error) {
                       answer->give(plan, plan ? nullptr : std::make_unique<Failure>(failure_of(error, "plan")));
                     }];
      Failure refused("", "");
      try {
        MLComputePlan* plan = answer->wait(cancel);
        return walked(plan.modelStructure, plan);
      } catch (const Failure& failure) {
        if (std::string(failure.code()) != "COREML_PLAN") throw;
        refused = failure;
      }
      // A model without a plan still has a structure: operations without devices.
      auto structure = std::make_shared<Answer<MLModelStructure*>>();
      [MLModelStructure loadContentsOfURL:url_of(compiled)
                        completionHandler:^(MLModelStructure* one, NSError* error) {
                          structure->give(one, one ? nullptr : std::make_unique<Failure>(failure_of(error, "plan")));
                        }];
      Plan made = walked(structure->wait(cancel), nil);
      made.refusal = refused.what();
      return made;
    });
  }
  throw Failure("ENV_NO_DEVICE", "[coreml] plan: compute plans and model structures need macOS 14.4");
}

}  // namespace rlx::coreml
