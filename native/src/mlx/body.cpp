#include "body.h"

#include <mlx/memory.h>

#include <string>

namespace rlx::gpu {
namespace {

std::string describe(const mx::array& x) {
  std::string text = "[";
  for (size_t i = 0; i < x.ndim(); i++) text += (i == 0 ? "" : ",") + std::to_string(x.shape(static_cast<int>(i)));
  return text + "]";
}

std::string described(const std::vector<Operand>& operands) {
  std::string shapes;
  for (const Operand& operand : operands)
    shapes += (shapes.empty() ? "" : ", ") +
              (operand.array == nullptr ? std::string("a packed weight") : describe(*operand.array));
  return shapes;
}

// MLX ends the process when an allocation fails, so it is never asked for more than it may use.
void check_room(const Call& call, size_t index, const std::vector<Operand>& operands, const mx::Shape& shape,
                mx::Dtype dtype) {
  size_t bytes = dtype.size();
  bool fits = true;
  for (const int size : shape) fits = !__builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes) && fits;
  if (!fits || bytes > mx::get_memory_limit())
    fail(Code::env_no_memory, "[mlx] call %zu, %s of %s: a result of more than the %zu MB that MLX may use", index,
         call.function->name, described(operands).c_str(), mx::get_memory_limit() >> 20);
}

}  // namespace

[[noreturn]] void failed(const Call& call, size_t index, const std::vector<Operand>& operands, const char* why) {
  fail(Code::run_failed, "[mlx] call %zu, %s of %s: %s", index, call.function->name, described(operands).c_str(), why);
}

std::vector<mx::array> invoke(const Call& call, size_t index, const std::vector<Operand>& operands,
                              const std::vector<size_t>& sizes, Scope& scope, size_t sessions) {
  try {
    for (const Type& type : call.outputs)
      check_room(call, index, operands, bind_shape(type, sizes, sessions), mlx_type(type.dtype));
    std::vector<mx::array> made = call.function->run({call, sizes, operands, scope, sessions});
    if (made.size() != call.outputs.size())
      failed(call, index, operands, "it gave another number of results than the plan says");
    for (size_t i = 0; i < made.size(); i++) {
      const Type& type = call.outputs[i];
      if (made[i].dtype() != mlx_type(type.dtype) || made[i].shape() != bind_shape(type, sizes, sessions))
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
