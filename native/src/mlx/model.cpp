// A plan bound to its weights, and its traces.
#include <mlx/compile.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include "body.h"
#include "control.h"
#include "session.h"
#include "weights.h"

namespace rlx::gpu {
namespace {

// Sets of sizes whose traces are kept.
constexpr size_t kTraces = 24;
// Traces of sub-graphs, over all sets of sizes.
constexpr size_t kBodyTraces = 128;

}  // namespace

void Model::load(const std::atomic<bool>& cancel) {
  if (loaded_) return;
  params_.clear();
  constants_.clear();
  for (const ConstantPlan& constant : plan_->constants) {
    const mx::Shape shape(constant.shape.begin(), constant.shape.end());
    constants_.push_back(from_bytes(plan_->data.data() + constant.offset, shape, constant.dtype));
  }
  std::vector<mx::array> all = constants_;
  size_t bytes = 0;
  for (const WeightPlan& param : plan_->params) {
    check_memory(bytes + param.bytes, "the weights up to here");
    params_.push_back(hold_weight(param, *plan_->weights, cancel));
    const Held& held = params_.back();
    for (const std::optional<mx::array>& part : {std::optional<mx::array>(held.plain), held.scales, held.biases}) {
      if (!part) continue;
      bytes += part->nbytes();
      all.push_back(*part);
    }
  }
  mx::eval(all);
  bytes_.store(bytes);
  loaded_ = true;
}

std::vector<HeldReport> Model::report(const std::atomic<bool>& cancel) {
  load(cancel);
  std::vector<HeldReport> result;
  for (size_t i = 0; i < params_.size(); i++) {
    if (cancel.load()) throw Error(Code::cancelled, "Cancelled.");
    const WeightPlan& plan = plan_->params[i];
    const Held& held = params_[i];
    HeldReport entry{plan.name, dtype_name(plan.dtype), dtype_name(plan.dtype), held.plain.nbytes(), 0, 0};
    if (held.packed()) {
      entry.form = "affine, " + std::to_string(held.bits) + " bits, groups of 32, scale and bias in f32";
      entry.bytes += held.scales->nbytes() + held.biases->nbytes();
    } else if (is_packed(plan.dtype)) {
      entry.form = "f16";
    }
    const WeightError error = weight_error(plan, *plan_->weights, held);
    entry.largest = error.largest;
    entry.relative = error.relative;
    result.push_back(std::move(entry));
  }
  return result;
}

std::vector<Operand> Model::operands(const std::vector<mx::array>& leaves) const {
  std::vector<Operand> result;
  result.reserve(leaves.size() + params_.size() + constants_.size());
  for (const mx::array& leaf : leaves) result.push_back({&leaf, nullptr});
  for (const Held& held : params_)
    result.push_back(held.packed() ? Operand{nullptr, &held} : Operand{&held.plain, nullptr});
  for (const mx::array& constant : constants_) result.push_back({&constant, nullptr});
  return result;
}

std::vector<mx::array> Model::build(const std::vector<mx::array>& leaves, const std::vector<size_t>& sizes,
                                    const std::atomic<bool>& cancel) const {
  Scope scope{*plan_, sizes};
  scope.cancel = &cancel;
  return run_body(0, operands(leaves), scope);
}

std::vector<mx::array> Model::replay(const std::vector<mx::array>& leaves, const std::vector<size_t>& symbols,
                                     const std::vector<size_t>& sizes, const std::atomic<bool>& cancel) {
  if (traceable(*plan_, 0, sizes)) return trace(symbols, sizes)(leaves);
  Scope scope{*plan_, sizes};
  scope.tracer = this;
  scope.cancel = &cancel;
  return run_body(0, operands(leaves), scope);
}

// Packed weights are constant over the turns and part of the trace; arrays are its arguments.
std::vector<mx::array> Model::replay(uint32_t body, const std::vector<Operand>& arguments,
                                     const std::vector<size_t>& sizes) {
  std::vector<mx::array> arrays;
  std::vector<const Held*> held;
  for (const Operand& argument : arguments) {
    held.push_back(argument.weight);
    if (argument.weight == nullptr) arrays.push_back(*argument.array);
  }
  auto key = std::make_tuple(body, sizes, held);
  auto found = bodies_.find(key);
  if (found == bodies_.end()) {
    if (bodies_.size() >= kBodyTraces) bodies_.clear();
    Replay traced = mx::compile(Replay([this, body, held, sizes](const std::vector<mx::array>& given) {
      std::vector<Operand> operands;
      size_t next = 0;
      for (const Held* weight : held)
        operands.push_back(weight == nullptr ? Operand{&given.at(next++), nullptr} : Operand{nullptr, weight});
      Scope scope{*plan_, sizes, true};
      return run_body(body, std::move(operands), scope);
    }));
    found = bodies_.emplace(std::move(key), std::move(traced)).first;
    traces_.fetch_add(1);
  }
  return found->second(arrays);
}

const Model::Replay& Model::trace(const std::vector<size_t>& symbols, const std::vector<size_t>& sizes) {
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    if (it->symbols != symbols) continue;
    kept_.splice(kept_.begin(), kept_, it);
    return kept_.front().run;
  }
  Replay traced = mx::compile(Replay([this, sizes](const std::vector<mx::array>& leaves) {
    Scope scope{*plan_, sizes, true};
    return run_body(0, operands(leaves), scope);
  }));
  kept_.push_front({symbols, std::move(traced)});
  if (kept_.size() > kTraces) kept_.pop_back();
  traces_.fetch_add(1);
  return kept_.front().run;
}

}  // namespace rlx::gpu
