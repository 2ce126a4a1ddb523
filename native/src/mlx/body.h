// Runs the bodies of a plan: their values, one call, a whole body.
#pragma once

#include <optional>
#include <vector>

#include "../core/error.h"
#include "calls.h"

namespace rlx::gpu {

// Values of a body while it runs: arguments, then results of calls; released after their last use.
class Values {
 public:
  Values(const Body& body, std::vector<Operand> arguments)
      : arguments_(std::move(arguments)), made_(body.values - body.arguments) {
    if (arguments_.size() != body.arguments)
      fail(Code::ir_structure, "[mlx] a graph takes %u arguments, got %zu", body.arguments, arguments_.size());
  }
  Operand operand(uint32_t value) const {
    if (value < arguments_.size()) return arguments_[value];
    return {&*made_[value - arguments_.size()], nullptr};
  }
  std::vector<Operand> operands(const Call& call) const {
    std::vector<Operand> result;
    for (const uint32_t input : call.inputs) result.push_back(operand(input));
    return result;
  }
  void set(const Call& call, std::vector<mx::array> results) {
    for (size_t i = 0; i < results.size(); i++)
      made_[call.first - arguments_.size() + i].emplace(std::move(results[i]));
    for (const uint32_t value : call.last) made_[value - arguments_.size()].reset();
  }
  std::vector<mx::array> results(const Body& body) const {
    std::vector<mx::array> result;
    for (const uint32_t value : body.results) {
      const Operand found = operand(value);
      if (found.array == nullptr) fail(Code::ir_type, "[mlx] a packed weight is an output");
      result.push_back(*found.array);
    }
    return result;
  }

 private:
  std::vector<Operand> arguments_;
  std::vector<std::optional<mx::array>> made_;
};

[[noreturn]] void failed(const Call& call, size_t index, const std::vector<Operand>& operands, const char* why);
// One call, checked against the plan's types; an error names the call and its operands. `sessions`:
// whose rows the operands hold.
std::vector<mx::array> invoke(const Call& call, size_t index, const std::vector<Operand>& operands,
                              const std::vector<size_t>& sizes, Scope& scope, size_t sessions = 1);

std::vector<size_t> evaluate_sizes(const Plan& plan, const std::vector<size_t>& symbols);
// Runs a body; `arguments` in the order of its leaves.
std::vector<mx::array> run_body(uint32_t body, std::vector<Operand> arguments, Scope& scope);

}  // namespace rlx::gpu
