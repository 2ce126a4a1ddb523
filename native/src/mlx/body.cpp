#include "body.h"

#include <string>

namespace rlx::gpu {
namespace {

std::string describe(const mx::array& x) {
  std::string text = "[";
  for (size_t i = 0; i < x.ndim(); i++) text += (i == 0 ? "" : ",") + std::to_string(x.shape(static_cast<int>(i)));
  return text + "]";
}

}  // namespace

[[noreturn]] void failed(const Call& call, size_t index, const std::vector<Operand>& operands, const char* why) {
  std::string shapes;
  for (const Operand& operand : operands) shapes += (shapes.empty() ? "" : ", ") + (operand.array == nullptr ? std::string("a packed weight") : describe(*operand.array));
  fail(Code::run_failed, "[mlx] call %zu, %s of %s: %s", index, call.function->name, shapes.c_str(), why);
}

std::vector<mx::array> invoke(const Call& call, size_t index, const std::vector<Operand>& operands, const std::vector<size_t>& sizes, Scope& scope) {
  try {
    std::vector<mx::array> made = call.function->run({call, sizes, operands, scope});
    if (made.size() != call.outputs.size()) failed(call, index, operands, "it gave another number of results than the plan says");
    for (size_t i = 0; i < made.size(); i++) {
      const Type& type = call.outputs[i];
      if (made[i].dtype() != mlx_type(type.dtype) || made[i].shape() != bind_shape(type, sizes))
        failed(call, index, operands, ("it gave " + describe(made[i]) + ", the plan says otherwise").c_str());
    }
    return made;
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    failed(call, index, operands, error.what());
  }
}

std::vector<size_t> evaluate_sizes(const Plan& plan, const std::vector<size_t>& symbols) {
  std::vector<size_t> sizes;
  sizes.reserve(plan.expressions.size());
  for (const Expression& expression : plan.expressions) sizes.push_back(expression.evaluate(symbols));
  return sizes;
}

std::vector<mx::array> run_body(uint32_t index, std::vector<Operand> arguments, Scope& scope) {
  const Plan& plan = scope.plan;
  if (index >= plan.bodies.size()) fail(Code::ir_structure, "[mlx] there is no graph %u", index);
  const Body& body = plan.bodies[index];
  Values values(body, std::move(arguments));
  for (size_t i = 0; i < body.calls.size(); i++) {
    const Call& call = body.calls[i];
    values.set(call, invoke(call, i, values.operands(call), scope.sizes, scope));
  }
  return values.results(body);
}

}  // namespace rlx::gpu
