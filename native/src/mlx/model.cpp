// A plan bound to its weights, and its traces.
#include <mlx/compile.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <algorithm>
#include <numeric>

#include "body.h"
#include "control.h"
#include "session.h"
#include "weights.h"

namespace rlx::gpu {
namespace {

// Sets of sizes whose traces are kept.
constexpr size_t kTraces = 24;
// Sets of sizes of several sessions at once.
constexpr size_t kJointTraces = 8;
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

std::vector<mx::array> Model::build(const Leaves& leaves) const {
  Scope scope{*plan_, leaves.sizes};
  scope.cancel = leaves.cancel;
  return run_body(0, operands(leaves.arrays), scope);
}

// By the kept trace of these symbols, or a new one of `function`.
std::vector<mx::array> Model::replay_kept(std::list<Trace>& kept, size_t most, const std::vector<size_t>& symbols,
                                          Replay function, const std::vector<mx::array>& arrays) {
  const auto found = std::find_if(kept.begin(), kept.end(), [&](const Trace& each) { return each.symbols == symbols; });
  if (found != kept.end()) {
    kept.splice(kept.begin(), kept, found);
  } else {
    kept.push_front({symbols, mx::compile(std::move(function))});
    if (kept.size() > most) kept.pop_back();
    traces_.fetch_add(1);
  }
  try {
    return kept.front().run(arrays);
  } catch (...) {
    // It may have failed while it was traced: MLX would take it for whole.
    kept.pop_front();
    throw;
  }
}

std::vector<mx::array> Model::replay(const Leaves& leaves) {
  if (!traceable(*plan_, 0, leaves.sizes)) {
    Scope scope{*plan_, leaves.sizes};
    scope.tracer = this;
    scope.cancel = leaves.cancel;
    return run_body(0, operands(leaves.arrays), scope);
  }
  const auto traced = [this, sizes = leaves.sizes](const std::vector<mx::array>& arrays) {
    Scope scope{*plan_, sizes, true};
    return run_body(0, operands(arrays), scope);
  };
  return replay_kept(kept_, kTraces, leaves.symbols, traced, leaves.arrays);
}

std::vector<std::vector<mx::array>> Model::walk(std::span<const Leaves> leaves, JointWalk how) const {
  how.joined_products = &joined_products_;
  std::vector<JointPart> parts;
  parts.reserve(leaves.size());
  for (const Leaves& each : leaves) parts.push_back({operands(each.arrays), each.sizes, each.cancel});
  return run_joint_body(how, parts);
}

// One trace holds all sessions: its arrays are theirs, one session behind the other, in the order of
// their sizes, so that others of the same sizes find it.
std::vector<std::vector<mx::array>> Model::replay_together(std::span<const Leaves> leaves) {
  std::vector<size_t> order(leaves.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return leaves[a].symbols < leaves[b].symbols; });
  std::vector<Leaves> shapes;
  std::vector<size_t> symbols{leaves.size()};
  std::vector<mx::array> all;
  for (const size_t i : order) {
    const Leaves& each = leaves[i];
    shapes.push_back({{}, each.symbols, each.sizes, nullptr});
    symbols.insert(symbols.end(), each.symbols.begin(), each.symbols.end());
    all.insert(all.end(), each.arrays.begin(), each.arrays.end());
  }
  const auto traced = [this, shapes](const std::vector<mx::array>& arrays) {
    std::vector<Leaves> given = shapes;
    const size_t count = arrays.size() / given.size();
    for (size_t i = 0; i < given.size(); i++) {
      const auto first = arrays.begin() + static_cast<std::ptrdiff_t>(i * count);
      given[i].arrays.assign(first, first + static_cast<std::ptrdiff_t>(count));
    }
    std::vector<mx::array> results;
    for (const auto& own : walk(given, {.plan = *plan_, .traced = true}))
      results.insert(results.end(), own.begin(), own.end());
    return results;
  };
  std::vector<mx::array> results;
  try {
    results = replay_kept(kept_joint_, kJointTraces, symbols, traced, all);
  } catch (const PartError& failed) {
    throw PartError{order[failed.part], failed.error};
  }
  const auto count = static_cast<std::ptrdiff_t>(results.size() / leaves.size());
  std::vector<std::vector<mx::array>> each(leaves.size());
  auto first = results.begin();
  for (const size_t i : order) {
    each[i].assign(first, first + count);
    first += count;
  }
  return each;
}

std::vector<std::vector<mx::array>> Model::together(std::span<const Leaves> leaves, Mode mode) {
  if (mode != Mode::compiled) return walk(leaves, {.plan = *plan_, .eager = mode == Mode::eager});
  const auto is_traceable = [this](const Leaves& each) { return traceable(*plan_, 0, each.sizes); };
  if (std::all_of(leaves.begin(), leaves.end(), is_traceable)) return replay_together(leaves);
  return walk(leaves, {.plan = *plan_, .tracer = this});
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

}  // namespace rlx::gpu
