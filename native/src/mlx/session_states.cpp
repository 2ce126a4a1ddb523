// The states of a session: their room and sizes, copies of them, and how they begin.
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "../core/error.h"
#include "../core/memory.h"
#include "body.h"
#include "session.h"
#include "weights.h"

namespace rlx::gpu {
namespace {

// Caches grow by this many positions: each growth copies them once, and is one more set of sizes to
// trace.
constexpr size_t kGrowth = 256;

}  // namespace

// Makes room in the caches for this run, or refuses it before anything has changed.
void Session::make_room(std::vector<size_t>& symbols) {
  const Plan& plan = model_->plan();
  size_t needed = 0;
  bool grows = false;
  for (const AppendPlan& append : plan.appends) {
    int32_t past = 0;
    const std::vector<uint8_t>& given = given_[append.past];
    if (given.size() != sizeof past)
      fail(Code::input_argument, "[run] input %s: got %zu bytes, expected 4", plan.inputs[append.past].name.c_str(),
           given.size());
    std::memcpy(&past, given.data(), sizeof past);
    const size_t tokens = plan.expressions[append.tokens].evaluate(symbols),
                 capacity = plan.expressions[append.capacity].evaluate(symbols);
    const bool is_within = past >= 0 && static_cast<size_t>(past) + tokens <= capacity;
    if (append.reach != kNone) {
      // A ring goes around its end once it has the rows of a step and those that are read before it.
      if (past < 0 || (!is_within && tokens + append.reach > capacity))
        fail(Code::run_context_full,
             "[kv_append] ring: got %d + %zu positions and %u before them, expected at most %zu", past, tokens,
             append.reach, capacity);
      continue;
    }
    if (!is_within)
      fail(Code::run_context_full, "[kv_append] got %d + %zu positions, expected at most %zu", past, tokens, capacity);
    needed = std::max(needed, static_cast<size_t>(past) + tokens);
    grows = true;
  }
  if (plan.growing == kNone) return;
  const size_t most = symbols_[plan.growing];
  if (!grows) needed = most;
  if (needed > length_ || length_ == 0) set_length(std::min(most, std::max<size_t>(1, align_up(needed, kGrowth))));
  symbols[plan.growing] = length_;
}

void Session::set_length(size_t length) {
  const Plan& plan = model_->plan();
  std::vector<size_t> symbols = symbols_;
  if (plan.growing != kNone) symbols[plan.growing] = length;
  check_memory(state_bytes_at(symbols), "the states of this session");
  if (states_ && length > length_)
    for (size_t i = 0; i < plan.states.size(); i++) {
      const StatePlan& state = plan.states[i];
      mx::array& value = (*states_)[i];
      if (state.axis < 0 || state.is_ring || static_cast<size_t>(value.shape(state.axis)) != length_) continue;
      mx::Shape more = value.shape();
      more[state.axis] = static_cast<int>(length - length_);
      value = mx::concatenate({value, mx::zeros(more, value.dtype())}, state.axis);
      value.eval();
    }
  length_ = length;
}

mx::array Session::zero_state(size_t index, const std::vector<size_t>& sizes) const {
  const Type& type = model_->plan().states[index].type;
  return mx::zeros(bind_shape(type, sizes), mlx_type(type.dtype));
}

std::shared_ptr<Session> Session::fork() const {
  auto copy = std::make_shared<Session>(model_, mode_, options_);
  // Arrays are values: both sessions look at the same memory until one of them writes.
  copy->states_ = states_;
  copy->length_ = length_;
  copy->lost_ = lost_;
  copy->state_bytes_.store(state_bytes_.load());
  return copy;
}

size_t Session::state_bytes_at(const std::vector<size_t>& symbols) const {
  const Plan& plan = model_->plan();
  size_t total = 0;
  for (const StatePlan& state : plan.states) {
    size_t bytes = dtype_bytes(state.type.dtype);
    for (const uint32_t size : state.type.sizes)
      if (__builtin_mul_overflow(bytes, plan.expressions[size].evaluate(symbols), &bytes))
        return std::numeric_limits<size_t>::max();
    if (__builtin_add_overflow(total, bytes, &total)) return std::numeric_limits<size_t>::max();
  }
  return total;
}

size_t Session::state_bytes(size_t positions) const {
  const Plan& plan = model_->plan();
  const std::vector<size_t>& symbols = symbols_;
  size_t total = 0;
  for (const StatePlan& state : plan.states) {
    size_t bytes = dtype_bytes(state.type.dtype);
    for (size_t axis = 0; axis < state.type.sizes.size(); axis++) {
      const size_t size = plan.expressions[state.type.sizes[axis]].evaluate(symbols);
      const bool counted = static_cast<int32_t>(axis) == state.axis;
      if (counted && positions > size && !state.is_ring)
        fail(Code::run_context_full, "[session] %zu positions: the cache holds %zu", positions, size);
      bytes *= counted ? rows_held(state, positions, size) : size;
    }
    total += bytes;
  }
  return total;
}

// Rows of a state that are copied for so many positions. Of none, rings are copied whole: they
// forget what stands before.
size_t Session::rows_held(const StatePlan& state, size_t positions, size_t rows) {
  return state.is_ring && positions == 0 ? rows : std::min(positions, rows);
}

mx::array Session::up_to(const mx::array& state, size_t index, size_t positions) const {
  const StatePlan& plan = model_->plan().states[index];
  const int32_t axis = plan.axis;
  if (axis < 0) return mx::contiguous(state);
  mx::Shape to = state.shape();
  to[axis] = static_cast<int>(rows_held(plan, positions, static_cast<size_t>(to[axis])));
  return mx::contiguous(mx::slice(state, mx::Shape(to.size(), 0), to));
}

std::vector<uint8_t> Session::save(size_t positions) const {
  if (lost_) fail(Code::run_failed, "[session] there is no state to save: a run failed while it updated it");
  const size_t size = state_bytes(positions);
  if (!states_) return std::vector<uint8_t>(size, 0);
  if (model_->plan().growing != kNone && positions > length_)
    fail(Code::run_context_full, "[session] %zu positions: the cache holds %zu so far", positions, length_);
  std::vector<uint8_t> saved;
  saved.reserve(size);
  for (size_t i = 0; i < states_->size(); i++) {
    mx::array part = up_to((*states_)[i], i, positions);
    part.eval();
    const auto* bytes = part.data<uint8_t>();
    saved.insert(saved.end(), bytes, bytes + part.nbytes());
  }
  return saved;
}

void Session::restore(size_t positions, const uint8_t* bytes, size_t size) {
  const Plan& plan = model_->plan();
  if (size != state_bytes(positions))
    fail(Code::input_argument, "[session] saved state: got %zu bytes, expected %zu", size, state_bytes(positions));
  // Of no positions, caches stay as they are.
  const bool keeps = positions == 0 && states_.has_value() && plan.growing != kNone;
  if (keeps && lost_) fail(Code::run_failed, "[session] the caches were lost: a run failed while it updated them");
  std::vector<size_t> symbols = symbols_;
  size_t length = 0;
  if (plan.growing != kNone)
    symbols[plan.growing] = length =
        keeps ? length_ : std::min(symbols_[plan.growing], std::max<size_t>(1, align_up(positions, kGrowth)));
  const std::vector<size_t> sizes = evaluate_sizes(plan, symbols);
  std::vector<mx::array> states;
  for (size_t i = 0; i < plan.states.size(); i++) {
    const StatePlan& state = plan.states[i];
    if (keeps && state.axis >= 0 && !state.is_ring) {
      states.push_back((*states_)[i]);
      continue;
    }
    mx::Shape shape = bind_shape(state.type, sizes);
    mx::Shape rest = shape;
    if (state.axis >= 0) {
      const auto rows = static_cast<size_t>(shape[state.axis]);
      const auto held = static_cast<int>(rows_held(state, positions, rows));
      rest[state.axis] = shape[state.axis] - held;
      shape[state.axis] = held;
    }
    mx::array part = from_bytes(bytes, shape, state.type.dtype);
    bytes += part.nbytes();
    states.push_back(state.axis < 0 ? part : mx::concatenate({part, mx::zeros(rest, part.dtype())}, state.axis));
  }
  mx::eval(states);
  size_t held = 0;
  for (const mx::array& state : states) held += state.nbytes();
  state_bytes_.store(held);
  states_ = std::move(states);
  length_ = length;
  lost_ = false;
  drawn_.clear();
  committed_.reset();
}

void Session::reset() {
  states_.reset();
  length_ = 0;
  lost_ = false;
  drawn_.clear();
  committed_.reset();
  state_bytes_.store(0);
}

}  // namespace rlx::gpu
