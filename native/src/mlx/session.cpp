#include "session.h"

#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <chrono>
#include <cstring>
#include <limits>

#include "../core/error.h"
#include "../core/memory.h"
#include "body.h"
#include "draw.h"
#include "weights.h"

namespace rlx::gpu {
namespace {

// Caches grow by this many positions: each growth copies them once, and is one more set of sizes to trace.
constexpr size_t kGrowth = 256;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

size_t bytes_of(const Operand& operand) {
  if (operand.array != nullptr) return operand.array->nbytes();
  return operand.weight->plain.nbytes() + operand.weight->scales->nbytes() + operand.weight->biases->nbytes();
}

// All in one evaluation; what fails in it has no name of its own.
void evaluate(std::vector<mx::array> wanted, bool wait = true) {
  try {
    wait ? mx::eval(std::move(wanted)) : mx::async_eval(std::move(wanted));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    fail(Code::run_failed, "[mlx] the evaluation failed (the eager mode names the call): %s", error.what());
  }
}

}  // namespace

// What a run needs beside the states: evaluated together with them.
struct Session::Pending {
  std::vector<std::pair<size_t, mx::array>> fetched;  // output, row-major
  std::optional<Draw> draw;
  std::optional<mx::array> logprobs, bests;  // of a score

  void add_to(std::vector<mx::array>& wanted) const {
    for (const auto& [index, value] : fetched) wanted.push_back(value);
    if (draw) draw->add_to(wanted);
    for (const auto* part : {&logprobs, &bests})
      if (*part) wanted.push_back(**part);
  }
};

// A run between the making of its graph and its end.
struct Session::Begun {
  RunRequest request;
  Pending pending;
  std::vector<mx::array> wanted;
  double began = 0;
};

Session::Session(std::shared_ptr<Model> model, Mode mode, std::vector<std::pair<std::string, size_t>> symbols)
    : model_(std::move(model)), mode_(mode), options_(std::move(symbols)), symbols_(model_->plan().symbols.size(), 0) {
  const Plan& plan = model_->plan();
  for (const auto& [name, size] : options_) {
    const uint32_t symbol = plan.symbol(name);
    if (symbol == kNone) continue;
    if (plan.limits[symbol] != 0 && size > plan.limits[symbol])
      fail(Code::ir_shape, "[session] %s is %zu: this plan was made for at most %zu", name.c_str(), size,
           plan.limits[symbol]);
    symbols_[symbol] = size;
  }
  if (plan.growing != kNone && symbols_[plan.growing] == 0)
    fail(Code::input_argument, "[session] the size of %s is missing", plan.symbols[plan.growing].c_str());
}

std::vector<size_t> Session::symbols_for(const RunRequest& request) const {
  const Plan& plan = model_->plan();
  std::vector<size_t> symbols = symbols_;
  for (const auto& [name, size] : request.symbols) {
    const uint32_t symbol = plan.symbol(name);
    if (symbol == kNone || symbol == plan.growing) continue;
    if (plan.limits[symbol] != 0 && size > plan.limits[symbol])
      fail(Code::ir_shape, "[run] %s is %zu: this plan was made for at most %zu", name.c_str(), size,
           plan.limits[symbol]);
    symbols[symbol] = size;
  }
  return symbols;
}

void Session::check_inputs(const RunRequest& request, const std::vector<const std::vector<uint8_t>*>& given) const {
  const Plan& plan = model_->plan();
  for (const auto& [name, bytes] : request.inputs) {
    bool known = false;
    for (const InputPlan& input : plan.inputs) known = known || input.name == name;
    if (!known) fail(Code::input_argument, "[run] no input named %s", name.c_str());
  }
  for (size_t i = 0; i < given.size(); i++) {
    const InputPlan& input = plan.inputs[i];
    if (given[i] == nullptr) fail(Code::input_argument, "[run] input %s is missing", input.name.c_str());
    if (input.limit == 0 || input.type.dtype != DType::i32) continue;
    const std::vector<uint8_t>& bytes = *given[i];
    for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      int32_t value;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      if (value < 0 || static_cast<uint64_t>(value) >= input.limit)
        fail(Code::run_failed, "[run] input %s: index out of range: got %d, expected 0 to %llu", input.name.c_str(),
             value, static_cast<unsigned long long>(input.limit - 1));
    }
  }
}

// Caches take what this run writes, or the run is refused before anything has changed.
void Session::make_room(const std::vector<const std::vector<uint8_t>*>& given, std::vector<size_t>& symbols) {
  const Plan& plan = model_->plan();
  size_t needed = 0;
  for (const AppendPlan& append : plan.appends) {
    int32_t past = 0;
    if (given[append.past]->size() != sizeof past)
      fail(Code::input_argument, "[run] input %s: got %zu bytes, expected 4", plan.inputs[append.past].name.c_str(),
           given[append.past]->size());
    std::memcpy(&past, given[append.past]->data(), sizeof past);
    const size_t tokens = plan.expressions[append.tokens].evaluate(symbols),
                 capacity = plan.expressions[append.capacity].evaluate(symbols);
    if (past < 0 || static_cast<size_t>(past) + tokens > capacity)
      fail(Code::run_context_full, "[kv_append] got %d + %zu positions, expected at most %zu", past, tokens, capacity);
    needed = std::max(needed, static_cast<size_t>(past) + tokens);
  }
  if (plan.growing == kNone) return;
  const size_t most = symbols_[plan.growing];
  if (plan.appends.empty()) needed = most;
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
      if (state.axis < 0 || static_cast<size_t>(value.shape(state.axis)) != length_) continue;
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

std::vector<mx::array> Session::run_eagerly(const std::vector<mx::array>& leaves, const std::vector<size_t>& sizes,
                                            const std::atomic<bool>& cancel, Profile* profile) const {
  const Plan& plan = model_->plan();
  const Body& body = plan.bodies[0];
  Values values(body, model_->operands(leaves));
  Scope scope{plan, sizes};
  scope.cancel = &cancel;
  const double began = now();
  for (size_t i = 0; i < body.calls.size(); i++) {
    if (cancel.load()) fail(Code::cancelled, "Cancelled after %zu of %zu instructions.", i, body.calls.size());
    const Call& call = body.calls[i];
    const std::vector<Operand> operands = values.operands(call);
    const double start = now();
    std::vector<mx::array> made = invoke(call, i, operands, sizes, scope);
    try {
      mx::eval(made);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      failed(call, i, operands, error.what());
    }
    if (profile != nullptr) {
      profile->start.push_back(start - began);
      profile->seconds.push_back(static_cast<float>(now() - start));
      size_t traffic = 0;
      for (const Operand& operand : operands) traffic += bytes_of(operand);
      for (const mx::array& result : made) traffic += result.nbytes();
      profile->traffic.push_back(static_cast<double>(traffic));
    }
    values.set(call, std::move(made));
  }
  return values.results(body);
}

size_t Session::output(const std::string& name) const {
  const auto& outputs = model_->plan().outputs;
  for (size_t i = 0; i < outputs.size(); i++)
    if (outputs[i].name == name) return i;
  fail(Code::input_argument, "[run] no output named %s", name.c_str());
}

Session::Pending Session::prepare(const RunRequest& request, const std::vector<mx::array>& results,
                                  std::optional<int32_t> followed) const {
  Pending pending;
  for (const std::string& name : request.fetch) {
    const size_t index = output(name);
    pending.fetched.emplace_back(index, mx::contiguous(results[index]));
  }
  if (!request.sample && !request.score) return pending;
  const mx::array& logits = results[output(request.logits)];
  if (logits.dtype() != mx::float32 || logits.ndim() != 2 || logits.size() == 0)
    fail(Code::input_argument, "[run] output %s holds no logits", request.logits.c_str());
  const int rows = logits.shape(0), width = logits.shape(1);
  if (request.sample) {
    const mx::array row = mx::slice(logits, {rows - 1, 0}, {rows, width});
    SampleRequest sample = *request.sample;
    if (followed) sample.add_recent({&*followed, 1});
    pending.draw = draw_token(row, sample);
  }
  if (request.score) {
    const std::vector<int32_t>& targets = request.score->targets;
    check_targets(*request.score, static_cast<size_t>(rows), static_cast<size_t>(width));
    std::vector<int32_t> places;
    for (const int32_t target : targets) places.push_back(std::max(0, target));
    const mx::array picked = mx::take_along_axis(logits, mx::array(places.data(), {rows, 1}, mx::int32), 1);
    pending.logprobs = mx::contiguous(mx::reshape(mx::subtract(picked, mx::logsumexp(logits, 1, true)), {rows}));
    pending.bests = mx::contiguous(mx::astype(mx::argmax(logits, 1, false), mx::int32));
  }
  return pending;
}

// Into `outputs`, whose memory is used again where there is some.
void Session::collect(const RunRequest& request, const Pending& pending, std::vector<Fetched>& outputs,
                      RunResult& result) {
  const Plan& plan = model_->plan();
  outputs.resize(pending.fetched.size());
  for (size_t i = 0; i < outputs.size(); i++) {
    const auto& [index, value] = pending.fetched[i];
    Fetched& fetched = outputs[i];
    fetched.name = plan.outputs[index].name;
    fetched.dtype = plan.outputs[index].type.dtype;
    fetched.shape.assign(value.shape().begin(), value.shape().end());
    const auto* bytes = value.data<uint8_t>();
    fetched.bytes.assign(bytes, bytes + value.nbytes());
  }
  if (pending.draw) {
    result.sampled = pending.draw->read();
    drawn_ = static_cast<int32_t>(result.sampled->token.id);
  }
  if (request.score) {
    const auto* logprobs = pending.logprobs->data<float>();
    const auto* bests = pending.bests->data<int32_t>();
    const size_t rows = pending.logprobs->size();
    result.scored = Scored{{logprobs, logprobs + rows}, {bests, bests + rows}};
    for (size_t i = 0; i < rows; i++)
      if (request.score->targets[i] < 0) result.scored->logprobs[i] = 0;
  }
}

Session::Begun Session::begin(const RunRequest& request, const std::atomic<bool>& cancel, RunResult& result) {
  const Plan& plan = model_->plan();
  if (request.series) fail(Code::input_argument, "[run] a series: MLX draws one token in a run");
  if (lost_)
    fail(Code::run_failed,
         "[session] a run failed while it updated the states: start again from an empty or a saved state");
  if (plan.weights) plan.weights->check();
  model_->load(cancel);
  std::vector<uint8_t> token(sizeof(int32_t));
  std::vector<const std::vector<uint8_t>*> given(plan.inputs.size(), nullptr);
  const std::optional<int32_t> drawn = std::exchange(drawn_, std::nullopt);
  for (size_t i = 0; i < plan.inputs.size(); i++) {
    for (const auto& [name, bytes] : request.inputs)
      if (name == plan.inputs[i].name) given[i] = &bytes;
    if (!request.follow.empty() && request.follow == plan.inputs[i].name) {
      if (!drawn) fail(Code::input_argument, "[run] nothing to follow: the run before this one drew no token");
      std::memcpy(token.data(), &*drawn, sizeof *drawn);
      given[i] = &token;
    }
  }
  check_inputs(request, given);
  std::vector<size_t> symbols = symbols_for(request);
  make_room(given, symbols);
  const std::vector<size_t> sizes = evaluate_sizes(plan, symbols);

  std::vector<mx::array> leaves;
  for (size_t i = 0; i < plan.inputs.size(); i++) {
    const InputPlan& input = plan.inputs[i];
    const mx::Shape shape = bind_shape(input.type, sizes);
    size_t count = 1;
    for (const int size : shape) count *= static_cast<size_t>(size);
    const size_t expected = count * dtype_bytes(input.type.dtype);
    if (given[i]->size() != expected)
      fail(Code::input_argument, "[run] input %s: got %zu bytes, expected %zu", input.name.c_str(), given[i]->size(),
           expected);
    leaves.push_back(from_bytes(given[i]->data(), shape, input.type.dtype));
  }
  if (!states_) {
    check_memory(state_bytes_at(symbols), "the states of this session");
    states_.emplace();
    for (size_t i = 0; i < plan.states.size(); i++) states_->push_back(zero_state(i, sizes));
  }
  for (const mx::array& state : *states_) leaves.push_back(state);

  const double began = now();
  std::vector<mx::array> results;
  if (request.profile || mode_ == Mode::eager) {
    if (request.profile) result.profile.emplace();
    results = run_eagerly(leaves, sizes, cancel, request.profile ? &*result.profile : nullptr);
  } else if (mode_ == Mode::compiled) {
    results = model_->replay(leaves, symbols, sizes, cancel);
  } else {
    results = model_->build(leaves, sizes, cancel);
  }
  Pending pending = prepare(request, results, request.follow.empty() ? std::nullopt : drawn);
  if (cancel.load()) throw Error(Code::cancelled, "Cancelled.");

  // From here on only the results refer to the old states: MLX may write the new ones over them.
  std::vector<mx::array> next(results.begin() + static_cast<std::ptrdiff_t>(plan.outputs.size()), results.end());
  results.clear();
  leaves.clear();
  std::vector<mx::array> wanted = next;
  pending.add_to(wanted);
  size_t bytes = 0;
  for (const mx::array& state : next) bytes += state.nbytes();
  state_bytes_.store(bytes);
  states_ = std::move(next);
  lost_ = true;
  return {request, std::move(pending), std::move(wanted), began};
}

Session::Begun Session::finish(const RunRequest& request, const std::atomic<bool>& cancel, RunResult& result) {
  Begun begun = begin(request, cancel, result);
  evaluate(std::move(begun.wanted));
  lost_ = false;
  committed_.reset();
  return begun;
}

RunResult Session::run(const RunRequest& request, const std::atomic<bool>& cancel) {
  RunResult result;
  const Begun begun = finish(request, cancel, result);
  collect(request, begun.pending, result.outputs, result);
  result.seconds = now() - begun.began;
  if (model_->plan().weights) model_->plan().weights->check();
  return result;
}

RunResult Session::run_slots(const RunRequest& request, const std::atomic<bool>& cancel) {
  RunResult result;
  const Begun begun = finish(request, cancel, result);
  const std::lock_guard lock(slots_mutex_);
  collect(request, begun.pending, slots_, result);
  size_t bytes = 0;
  for (const Fetched& slot : slots_) bytes += slot.bytes.capacity();
  slot_bytes_.store(bytes);
  result.seconds = now() - begun.began;
  if (model_->plan().weights) model_->plan().weights->check();
  return result;
}

void Session::read_slot(const std::string& name, uint8_t* target, size_t size) const {
  const std::lock_guard lock(slots_mutex_);
  for (const Fetched& slot : slots_) {
    if (slot.name != name) continue;
    if (slot.bytes.size() != size)
      fail(Code::input_argument, "[run] slot %s: got %zu bytes, expected %zu", name.c_str(), size, slot.bytes.size());
    if (size > 0) std::memcpy(target, slot.bytes.data(), size);
    return;
  }
  fail(Code::input_argument, "[run] no slot named %s was filled", name.c_str());
}

RunResult Session::commit(const RunRequest& request, const std::atomic<bool>& cancel) {
  if (request.sample || request.profile || !request.follow.empty())
    fail(Code::input_argument,
         "[run] a run that is not waited for can neither draw a token, nor follow one, nor be timed");
  RunResult result;
  auto begun = std::make_shared<Begun>(begin(request, cancel, result));
  evaluate(std::exchange(begun->wanted, {}), false);
  lost_ = false;
  // Without the states: the next run may then write over them.
  begun->pending.add_to(begun->wanted);
  committed_ = std::move(begun);
  return {};
}

RunResult Session::sync() {
  if (!committed_) fail(Code::input_argument, "[run] nothing was handed over to wait for");
  const std::shared_ptr<Begun> last = std::exchange(committed_, nullptr);
  lost_ = true;
  std::vector<mx::array> all = last->wanted;
  if (states_) all.insert(all.end(), states_->begin(), states_->end());
  evaluate(std::move(all));
  lost_ = false;
  RunResult result;
  collect(last->request, last->pending, result.outputs, result);
  result.seconds = now() - last->began;
  if (model_->plan().weights) model_->plan().weights->check();
  return result;
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
      if (counted && positions > size)
        fail(Code::run_context_full, "[session] %zu positions: the cache holds %zu", positions, size);
      bytes *= counted ? positions : size;
    }
    total += bytes;
  }
  return total;
}

mx::array Session::up_to(const mx::array& state, size_t index, size_t positions) const {
  const int32_t axis = model_->plan().states[index].axis;
  if (axis < 0) return mx::contiguous(state);
  mx::Shape to = state.shape();
  to[axis] = static_cast<int>(positions);
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
  std::vector<size_t> symbols = symbols_;
  size_t length = 0;
  if (plan.growing != kNone)
    symbols[plan.growing] = length =
        std::min(symbols_[plan.growing], std::max<size_t>(1, align_up(positions, kGrowth)));
  const std::vector<size_t> sizes = evaluate_sizes(plan, symbols);
  std::vector<mx::array> states;
  for (size_t i = 0; i < plan.states.size(); i++) {
    const StatePlan& state = plan.states[i];
    mx::Shape shape = bind_shape(state.type, sizes);
    mx::Shape rest = shape;
    if (state.axis >= 0) {
      rest[state.axis] = shape[state.axis] - static_cast<int>(positions);
      shape[state.axis] = static_cast<int>(positions);
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
  drawn_.reset();
  committed_.reset();
}

void Session::reset() {
  states_.reset();
  length_ = 0;
  lost_ = false;
  drawn_.reset();
  committed_.reset();
  state_bytes_.store(0);
}

}  // namespace rlx::gpu
