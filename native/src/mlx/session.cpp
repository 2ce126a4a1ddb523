#include "session.h"

#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <chrono>
#include <cstring>

#include "../core/error.h"
#include "../core/memory.h"
#include "body.h"
#include "run_outputs.h"
#include "weights.h"

namespace rlx::gpu {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

size_t bytes_of(const Operand& operand) {
  if (operand.array != nullptr) return operand.array->nbytes();
  return operand.weight->plain.nbytes() + operand.weight->scales->nbytes() + operand.weight->biases->nbytes();
}

// All in one evaluation; an error in it does not name the call.
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

// A run between the making of its graph and its end.
struct Session::Begun {
  RunRequest request;
  RunOutputs outputs;
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

Session::Begun Session::begin(const RunRequest& request, const std::atomic<bool>& cancel, RunResult& result) {
  const Plan& plan = model_->plan();
  if (request.series) fail(Code::input_argument, "[run] a series: MLX draws one token in a run");
  if (lost_)
    fail(Code::run_failed,
         "[session] a run failed while it updated the states: start again from an empty or a saved state");
  model_->check_weights();
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
  RunOutputs outputs(plan, request, results, request.follow.empty() ? std::nullopt : drawn);
  if (cancel.load()) throw Error(Code::cancelled, "Cancelled.");

  // From here on only the results refer to the old states: MLX may write the new ones over them.
  std::vector<mx::array> next(results.begin() + static_cast<std::ptrdiff_t>(plan.outputs.size()), results.end());
  results.clear();
  leaves.clear();
  std::vector<mx::array> wanted = next;
  outputs.add_to(wanted);
  size_t bytes = 0;
  for (const mx::array& state : next) bytes += state.nbytes();
  state_bytes_.store(bytes);
  states_ = std::move(next);
  lost_ = true;
  return {request, std::move(outputs), std::move(wanted), began};
}

void Session::read(const Begun& begun, std::vector<Fetched>& outputs, RunResult& result) {
  begun.outputs.read(model_->plan(), begun.request, outputs, result);
  if (result.sampled) drawn_ = static_cast<int32_t>(result.sampled->token.id);
  result.seconds = now() - begun.began;
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
  read(begun, result.outputs, result);
  model_->check_weights();
  return result;
}

RunResult Session::run_slots(const RunRequest& request, const std::atomic<bool>& cancel) {
  RunResult result;
  const Begun begun = finish(request, cancel, result);
  const std::lock_guard lock(slots_mutex_);
  read(begun, slots_, result);
  size_t bytes = 0;
  for (const Fetched& slot : slots_) bytes += slot.bytes.capacity();
  slot_bytes_.store(bytes);
  model_->check_weights();
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
  begun->outputs.add_to(begun->wanted);
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
  read(*last, result.outputs, result);
  model_->check_weights();
  return result;
}

}  // namespace rlx::gpu
