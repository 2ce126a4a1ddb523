#include "session.h"

#include <mlx/transforms.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "../core/error.h"
#include "../core/memory.h"
#include "body.h"
#include "evaluate.h"
#include "weights.h"

namespace rlx::gpu {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

size_t bytes_of(const Operand& operand) {
  if (operand.array != nullptr) return operand.array->nbytes();
  return operand.weight->plain.nbytes() + operand.weight->scales->nbytes() + operand.weight->biases->nbytes();
}

}  // namespace

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

size_t Session::input(const std::string& name) const {
  const std::vector<InputPlan>& inputs = model_->plan().inputs;
  for (size_t i = 0; i < inputs.size(); i++)
    if (inputs[i].name == name) return i;
  fail(Code::input_argument, "[run] no input named %s", name.c_str());
}

int32_t* Session::integer_input(const std::string& name) {
  const size_t index = input(name);
  std::vector<uint8_t>& bytes = given_[index];
  if (model_->plan().inputs[index].type.dtype != DType::i32 || bytes.size() != sizeof(int32_t))
    fail(Code::input_argument, "[run] input %s: got %zu bytes, expected one i32", name.c_str(), bytes.size());
  return reinterpret_cast<int32_t*>(bytes.data());
}

void Session::bind_inputs(const RunRequest& request, const std::vector<int32_t>& followed) {
  const std::vector<InputPlan>& inputs = model_->plan().inputs;
  given_.assign(inputs.size(), {});
  std::vector<bool> is_given(inputs.size(), false);
  for (const auto& [name, bytes] : request.inputs) {
    const size_t i = input(name);
    given_[i] = bytes;
    is_given[i] = true;
  }
  if (!request.follow.empty()) {
    if (followed.empty())
      fail(Code::input_argument,
           "[run] nothing to follow: the run before this one drew no token, or its series has ended");
    const size_t i = input(request.follow);
    given_[i].resize(sizeof(int32_t));
    std::memcpy(given_[i].data(), &followed.back(), sizeof(int32_t));
    is_given[i] = true;
  }
  for (size_t i = 0; i < inputs.size(); i++)
    if (!is_given[i]) fail(Code::input_argument, "[run] input %s is missing", inputs[i].name.c_str());
  if (request.series)
    for (const std::string& name : {request.series->token, request.series->position}) integer_input(name);
}

void Session::check_inputs() const {
  const Plan& plan = model_->plan();
  for (size_t i = 0; i < given_.size(); i++) {
    const InputPlan& input = plan.inputs[i];
    if (input.limit == 0 || input.type.dtype != DType::i32) continue;
    const std::vector<uint8_t>& bytes = given_[i];
    for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      int32_t value;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      if (value < 0 || static_cast<uint64_t>(value) >= input.limit)
        fail(Code::run_failed, "[run] input %s: index out of range: got %d, expected 0 to %llu", input.name.c_str(),
             value, static_cast<unsigned long long>(input.limit - 1));
    }
  }
}

std::vector<mx::array> Session::run_eagerly(const Leaves& leaves, Profile* profile) const {
  const Plan& plan = model_->plan();
  const Body& body = plan.bodies[0];
  Values values(body, model_->operands(leaves.arrays));
  Scope scope{plan, leaves.sizes};
  scope.cancel = leaves.cancel;
  const double began = now();
  for (size_t i = 0; i < body.calls.size(); i++) {
    if (leaves.cancel->load()) fail(Code::cancelled, "Cancelled after %zu of %zu instructions.", i, body.calls.size());
    const Call& call = body.calls[i];
    const std::vector<Operand> operands = values.operands(call);
    const double start = now();
    std::vector<mx::array> made = invoke(call, i, operands, leaves.sizes, scope);
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

Drawing Session::begin(const RunRequest& request, const std::atomic<bool>& cancel) {
  check_series(request);
  if (lost_)
    fail(Code::run_failed,
         "[session] a run failed while it updated the states: start again from an empty or a saved state");
  model_->check_weights();
  model_->load(cancel);
  const std::vector<int32_t> followed = std::exchange(drawn_, {});
  bind_inputs(request, followed);
  run_symbols_ = symbols_for(request);
  return {request, followed};
}

Leaves Session::leaves(const std::atomic<bool>& cancel) {
  const Plan& plan = model_->plan();
  check_inputs();
  Leaves result{{}, run_symbols_, {}, &cancel};
  make_room(result.symbols);
  result.sizes = evaluate_sizes(plan, result.symbols);
  for (size_t i = 0; i < plan.inputs.size(); i++) {
    const InputPlan& input = plan.inputs[i];
    const mx::Shape shape = bind_shape(input.type, result.sizes);
    size_t count = 1;
    for (const int size : shape) count *= static_cast<size_t>(size);
    const size_t expected = count * dtype_bytes(input.type.dtype);
    if (given_[i].size() != expected)
      fail(Code::input_argument, "[run] input %s: got %zu bytes, expected %zu", input.name.c_str(), given_[i].size(),
           expected);
    result.arrays.push_back(from_bytes(given_[i].data(), shape, input.type.dtype));
  }
  if (!states_) {
    check_memory(state_bytes_at(result.symbols), "the states of this session");
    states_.emplace();
    for (size_t i = 0; i < plan.states.size(); i++) states_->push_back(zero_state(i, result.sizes));
  }
  for (const mx::array& state : *states_) result.arrays.push_back(state);
  return result;
}

std::vector<mx::array> Session::results(const Leaves& leaves, Profile* profile) const {
  if (profile != nullptr || mode_ == Mode::eager) return run_eagerly(leaves, profile);
  return mode_ == Mode::compiled ? model_->replay(leaves) : model_->build(leaves);
}

// From here on only the results may refer to the old states: MLX then writes the new ones over
// them.
std::vector<mx::array> Session::adopt(const RunRequest& request, const SampleRequest& sampling,
                                      const std::vector<mx::array>& results) {
  const Plan& plan = model_->plan();
  RunOutputs outputs(plan, request, sampling, results);
  std::vector<mx::array> wanted(results.begin() + static_cast<std::ptrdiff_t>(plan.outputs.size()), results.end());
  size_t bytes = 0;
  for (const mx::array& state : wanted) bytes += state.nbytes();
  state_bytes_.store(bytes);
  states_ = wanted;
  lost_ = true;
  outputs.add_to(wanted);
  outputs_ = std::move(outputs);
  committed_.reset();
  return wanted;
}

Sampled Session::settle(const RunRequest& request) {
  lost_ = false;
  return request.sample ? outputs_->drawn() : Sampled{};
}

bool Session::take(const RunRequest& request, Drawing& drawing, Sampled sampled) {
  const int32_t token = sampled.id();
  if (drawing.take(request, std::move(sampled))) return true;
  *integer_input(request.series->token) = token;
  ++*integer_input(request.series->position);
  return false;
}

void Session::finish(const RunRequest& request, Drawing drawing, std::vector<Fetched>& outputs, RunResult& result) {
  drawn_ = drawing.finish(request, result);
  outputs_->read(model_->plan(), request, outputs, result);
  outputs_.reset();
  model_->check_weights();
}

void Session::end(const RunRequest& request, Drawing drawing, RunResult& result) {
  finish(request, std::move(drawing), result.outputs, result);
}

// A run of one step, up to its end.
Drawing Session::run_step(const RunRequest& request, const std::atomic<bool>& cancel, RunResult& result, bool waits) {
  if (request.series) fail(Code::input_argument, "[run] a series: each of its steps takes one token, got more");
  Drawing drawing = begin(request, cancel);
  if (request.profile) result.profile.emplace();
  std::vector<mx::array> wanted;
  {
    Leaves own = leaves(cancel);
    std::vector<mx::array> made = results(own, request.profile ? &*result.profile : nullptr);
    if (cancel.load()) throw Error(Code::cancelled, "Cancelled.");
    own.arrays.clear();
    wanted = adopt(request, drawing.sampling, made);
  }
  evaluate(std::move(wanted), waits);
  Sampled sampled = settle(request);
  if (request.sample) drawing.take(request, std::move(sampled));
  return drawing;
}

RunResult Session::run(const RunRequest& request, const std::atomic<bool>& cancel) {
  RunResult result;
  const double began = now();
  Drawing drawing = run_step(request, cancel, result, true);
  end(request, std::move(drawing), result);
  result.seconds = now() - began;
  return result;
}

RunResult Session::run_slots(const RunRequest& request, const std::atomic<bool>& cancel) {
  RunResult result;
  const double began = now();
  Drawing drawing = run_step(request, cancel, result, true);
  const std::lock_guard lock(slots_mutex_);
  finish(request, std::move(drawing), slots_, result);
  size_t bytes = 0;
  for (const Fetched& slot : slots_) bytes += slot.bytes.capacity();
  slot_bytes_.store(bytes);
  result.seconds = now() - began;
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
  const double began = now();
  RunResult result;
  run_step(request, cancel, result, false);
  committed_ = {request, began};
  return {};
}

RunResult Session::sync() {
  if (!committed_) fail(Code::input_argument, "[run] nothing was handed over to wait for");
  const Committed last = *std::exchange(committed_, std::nullopt);
  lost_ = true;
  std::vector<mx::array> all;
  outputs_->add_to(all);
  if (states_) all.insert(all.end(), states_->begin(), states_->end());
  evaluate(std::move(all));
  lost_ = false;
  RunResult result;
  end(last.request, {}, result);
  result.seconds = now() - last.began;
  return result;
}

}  // namespace rlx::gpu
