// A session of the CPU engine: binds inputs, runs the plan, keeps states. Over 500 lines: what it
// holds between two runs is touched by all of them.
#include "session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "../core/error.h"

namespace rlx {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

size_t bind_shape(const TensorPlan& plan, const std::vector<size_t>& symbols, Tensor& tensor) {
  tensor.dtype = plan.dtype;
  tensor.rank = plan.shape.size();
  size_t count = 1;
  for (size_t i = 0; i < tensor.rank; i++) {
    tensor.shape[i] = plan.shape[i].evaluate(symbols);
    if (__builtin_mul_overflow(count, tensor.shape[i], &count)) fail(Code::ir_shape, "[session] a tensor is too large");
  }
  tensor.count = count;
  tensor.bytes = storage_bytes(plan.dtype, count);
  return tensor.bytes;
}

}  // namespace

// A barrier stands before an instruction that reads what was written, or writes what was read or
// written, since the last one. A decision counts as a barrier, and every turn of a loop ends with
// one. So after a jump no more is pending than on the straight way.
std::vector<Wait> waits_of(const std::vector<const Op*>& ops) {
  struct Range {
    const uint8_t* begin;
    const uint8_t* end;
  };
  std::vector<Range> reads;
  std::vector<Range> writes;
  bool shared = false;
  const auto meets = [](const std::vector<Range>& ranges, const Tensor& tensor) {
    for (const Range& range : ranges)
      if (tensor.data < range.end && range.begin < tensor.data + tensor.bytes) return true;
    return false;
  };
  std::vector<Wait> waits(ops.size(), Wait::none);
  for (size_t i = 0; i < ops.size(); i++) {
    const Op& op = *ops[i];
    if (op.controls()) {
      waits[i] = Wait::decision;
      reads.clear();
      writes.clear();
      shared = false;
      continue;
    }
    bool wait = shared && op.shared_bytes != 0;
    for (const Tensor* tensor : op.c.in) wait = wait || (tensor != nullptr && meets(writes, *tensor));
    for (const Tensor* tensor : op.c.out) wait = wait || meets(writes, *tensor) || meets(reads, *tensor);
    if (wait) {
      waits[i] = Wait::barrier;
      reads.clear();
      writes.clear();
      shared = false;
    }
    shared = shared || op.shared_bytes != 0;
    for (const Tensor* tensor : op.c.in)
      if (tensor != nullptr) reads.push_back({tensor->data, tensor->data + tensor->bytes});
    for (const Tensor* tensor : op.c.out) writes.push_back({tensor->data, tensor->data + tensor->bytes});
  }
  return waits;
}

Session::Session(std::shared_ptr<Plan> plan, SessionOptions options)
    : plan_(std::move(plan)), options_(std::move(options)) {
  symbols_.assign(plan_->symbols.size(), 0);
  for (const auto& [name, size] : options_.symbols) {
    const uint32_t symbol = plan_->symbol(name);
    if (symbol != kAbsent) symbols_[symbol] = size;
  }
  tensors_.resize(plan_->tensors.size());
  arena_ = Pages(plan_->arena_bytes);
  inputs_.resize(plan_->inputs.size());
  own_.resize(plan_->own_buffers);
  for (const StatePlan& state : plan_->states) {
    Tensor tensor;
    states_.emplace_back(bind_shape(plan_->tensors[state.tensor], symbols_, tensor));
  }
  make_ops();
}

void Session::make_ops() {
  for (const Instruction& instruction : plan_->instructions) {
    OpContext context{instruction.kernel->name, {},       {}, Params(*plan_, instruction, symbols_), *options_.kernels,
                      options_.threads,         &failure_};
    for (const uint32_t tensor : instruction.inputs) {
      if (tensor != kAbsent) tensors_[tensor].dtype = plan_->tensors[tensor].dtype;
      context.in.push_back(tensor == kAbsent ? nullptr : &tensors_[tensor]);
    }
    for (const uint32_t tensor : instruction.outputs) {
      tensors_[tensor].dtype = plan_->tensors[tensor].dtype;
      context.out.push_back(&tensors_[tensor]);
    }
    ops_.push_back(instruction.kernel->make(context));
  }
  for (const auto& op : ops_) is_straight_ = is_straight_ && !op->controls();
  for (const auto& op : ops_)
    if (op->target() > ops_.size()) fail(Code::ir_structure, "[plan] %s leads out of the plan", op->c.name);
}

void Session::bind_tensor(size_t index) {
  const TensorPlan& plan = plan_->tensors[index];
  Tensor& tensor = tensors_[index];
  const size_t bytes = bind_shape(plan, symbols_, tensor);
  const auto buffer = [&](std::vector<Pages>& buffers) {
    // Never without memory: an empty tensor also has a pointer, so kernels need no check.
    buffers[plan.index].reserve(std::max<size_t>(bytes, 1));
    tensor.data = buffers[plan.index].data();
  };
  switch (plan.storage) {
    case Storage::arena:
      if (bytes > plan.reserved)
        fail(Code::ir_shape, "[session] a tensor needs %zu bytes, planned %llu: a size is larger than its limit", bytes,
             static_cast<unsigned long long>(plan.reserved));
      tensor.data = arena_.data() + plan.offset;
      break;
    case Storage::weight: tensor.data = const_cast<uint8_t*>(plan_->weights->at(plan.index, plan.offset, bytes)); break;
    case Storage::constant: tensor.data = plan_->constants.data() + plan.offset; break;
    case Storage::state:
      if (bytes > states_[plan.index].bytes()) fail(Code::ir_shape, "[session] a state changed its size");
      tensor.data = states_[plan.index].data();
      break;
    case Storage::input: buffer(inputs_); break;
    case Storage::own: buffer(own_); break;
  }
}

void Session::bind() {
  // A second view of a buffer may be larger than the first: sizes first, then pointers that stay.
  for (size_t i = 0; i < tensors_.size(); i++) bind_tensor(i);
  for (size_t i = 0; i < tensors_.size(); i++) bind_tensor(i);
  size_t shared = 0;
  size_t shares = 0;
  thread_bytes_ = 64;
  first_share_.clear();
  trials_.resize(ops_.size());
  active_.assign(ops_.size(), nullptr);
  for (const auto& op : ops_) {
    op->shared_bytes = op->thread_bytes = 0;
    op->bind();
    shared = std::max(shared, align_up(op->shared_bytes, 64));
    thread_bytes_ = std::max(thread_bytes_, align_up(op->thread_bytes, 64));
    tune(first_share_.size(), *op);
    first_share_.push_back(shares);
    shares += op->most_phases() * options_.threads;
  }
  // A page apart, so that threads do not share cache lines or pages.
  thread_bytes_ = align_up(thread_bytes_, 4096);
  scratch_.reserve(align_up(shared, 4096) + thread_bytes_ * options_.threads);
  for (const auto& op : ops_) op->shared = scratch_.data() + thread_bytes_ * options_.threads;
  if (shares > share_count_) {
    shares_ = std::make_unique<Share[]>(shares);
    share_count_ = shares;
  }
  std::vector<const Op*> ops;
  ops.reserve(ops_.size());
  for (const auto& op : ops_) ops.push_back(op.get());
  waits_ = waits_of(ops);
  static std::atomic<uint64_t> bindings{0};
  binding_ = ++bindings;
  bound_ = true;
}

// Trials continue over runs, because each run of one token has the same products.
void Session::tune(size_t at, const Op& op) {
  if (options_.tuner == nullptr) return;
  const std::vector<TunedProduct> products = op.products();
  if (products.empty()) return;
  if (!trials_[at]) trials_[at] = std::make_unique<ProductTrials>(*options_.tuner, products, options_.threads);
  active_[at] = trials_[at].get();
}

void Session::bind_symbols(const RunRequest& request) {
  std::vector<size_t> wanted = symbols_;
  for (const auto& [name, size] : request.symbols) {
    const uint32_t symbol = plan_->symbol(name);
    if (symbol == kAbsent) continue;
    if (plan_->limits[symbol] != 0 && size > plan_->limits[symbol])
      fail(Code::ir_shape, "[run] %s is %zu: this plan was made for at most %zu", name.c_str(), size,
           plan_->limits[symbol]);
    wanted[symbol] = size;
  }
  if (bound_ && wanted == symbols_) return;
  symbols_ = std::move(wanted);
  bound_ = false;
  bind();
}

size_t Session::input(const std::string& name) const {
  for (size_t i = 0; i < plan_->inputs.size(); i++)
    if (plan_->inputs[i].name == name) return i;
  fail(Code::input_argument, "[run] no input named %s", name.c_str());
}

int32_t& Session::integer_input(const std::string& name) {
  const Tensor& tensor = tensors_[plan_->inputs[input(name)].tensor];
  if (tensor.dtype != DType::i32 || tensor.count != 1)
    fail(Code::input_argument, "[run] input %s: got %zu of %s, expected one i32", name.c_str(), tensor.count,
         dtype_name(tensor.dtype));
  return *reinterpret_cast<int32_t*>(tensor.data);
}

void Session::set_inputs(const RunRequest& request) {
  std::vector<uint8_t> given(plan_->inputs.size(), 0);
  for (const auto& [name, bytes] : request.inputs) {
    const size_t i = input(name);
    const Tensor& tensor = tensors_[plan_->inputs[i].tensor];
    if (bytes.size() != tensor.bytes)
      fail(Code::input_argument, "[run] input %s: got %zu bytes, expected %zu", name.c_str(), bytes.size(),
           tensor.bytes);
    if (!bytes.empty()) std::memcpy(tensor.data, bytes.data(), bytes.size());
    given[i] = 1;
  }
  if (!request.follow.empty()) {
    if (drawn_.empty())
      fail(Code::input_argument,
           "[run] nothing to follow: the run before this one drew no token, or its series has ended");
    integer_input(request.follow) = drawn_.back();
    given[input(request.follow)] = 1;
  }
  for (size_t i = 0; i < given.size(); i++)
    if (given[i] == 0) fail(Code::input_argument, "[run] input %s is missing", plan_->inputs[i].name.c_str());
}

const Tensor& Session::output(const std::string& name) const {
  for (const NamedTensor& entry : plan_->outputs)
    if (entry.name == name) return tensors_[entry.tensor];
  fail(Code::input_argument, "[run] no output named %s", name.c_str());
}

const Tensor& Session::logits(const RunRequest& request) const {
  const Tensor& logits = output(request.logits);
  if (logits.dtype != DType::f32 || logits.count == 0)
    fail(Code::input_argument, "[run] output %s holds no logits", request.logits.c_str());
  return logits;
}

// Draws a token from the last row of the logits.
Sampled Session::sample(Pool& pool, size_t threads, const RunRequest& request, const SampleRequest& sampling) {
  const Tensor& all = logits(request);
  const float* row = all.f32() + (all.rows() - 1) * all.last();
  return rlx::sample(*options_.kernels, pool, threads, row, all.last(), sampling, work_);
}

bool Session::take(const RunRequest& request, Drawing& drawing, Sampled sampled) {
  const int32_t token = sampled.id();
  if (drawing.take(request, std::move(sampled)) || !request.series) return true;
  integer_input(request.series->token) = token;
  integer_input(request.series->position)++;
  return false;
}

void Session::end(const RunRequest& request, Drawing drawing, RunResult& result) {
  drawn_ = drawing.finish(request, result);
  for (const std::string& name : request.fetch) {
    const Tensor& tensor = output(name);
    Fetched fetched{name, tensor.dtype, {tensor.shape, tensor.shape + tensor.rank}, {}};
    fetched.bytes.assign(tensor.data, tensor.data + tensor.bytes);
    result.outputs.push_back(std::move(fetched));
  }
  if (plan_->weights) plan_->weights->check();
}

// Draws after the first step; runs again and draws until the series ends.
void Session::draw(Pool& pool, const RunRequest& request, Drawing& drawing, const std::atomic<bool>& cancel) {
  while (!take(request, drawing, sample(pool, options_.threads, request, drawing.sampling))) {
    try {
      compute(pool, cancel, nullptr);
    } catch (const Error& error) {
      if (error.code() != Code::cancelled) throw;
      fail(Code::cancelled, "Cancelled after %zu of %zu tokens.", drawing.drawn.size(), request.series->count);
    }
  }
}

bool Session::joins(const Session& other) const {
  return plan_ == other.plan_ && options_.threads == other.options_.threads &&
         options_.kernels == other.options_.kernels;
}

// While all threads wait. A jump back makes the items of the instructions in between available
// again.
void Session::decide(size_t at) {
  next_ = ops_[at]->decide(at);
  if (next_ > at) return;
  const size_t end = first_share_[at] + ops_[at]->most_phases() * options_.threads;
  for (size_t i = first_share_[next_]; i < end; i++) shares_[i].reset();
}

// While all threads wait: starts the clock of this instruction; ops_.size() stops it.
void Session::stamp(size_t at) {
  const double time = now() - began_;
  if (stamped_ != SIZE_MAX) profile_->seconds[stamped_] += static_cast<float>(time - lap_);
  if (at < ops_.size() && executed_[at]++ == 0) profile_->start[at] = time;
  stamped_ = at;
  lap_ = time;
}

template <bool kProfile>
void Session::execute(size_t index) {
  Thread thread{index, scratch_.data() + index * thread_bytes_, {}, cancel_};
  if (options_.tuner != nullptr) thread.tuning = options_.tuner->tuning();
  // With a clock the last to arrive stamps the barrier: an instruction lasts from its barrier to
  // the next one.
  const auto sync = [&](size_t at = SIZE_MAX) {
    gate_.wait(*placement_, index, [&] {
      if (kProfile && at != SIZE_MAX) stamp(at);
      if (cancel_->load(std::memory_order_relaxed) || failure_.failed.load(std::memory_order_acquire))
        halt_.store(true, std::memory_order_relaxed);
      else if (at < ops_.size() && waits_[at] == Wait::decision)
        decide(at);
    });
    return !halt_.load(std::memory_order_relaxed);
  };
  for (size_t i = 0; i < ops_.size();) {
    Op& op = *ops_[i];
    if (kProfile || waits_[i] != Wait::none) {
      if (!sync(i)) return;
      if (waits_[i] == Wait::decision) {
        i = next_;
        continue;
      }
    }
    const size_t phases = op.phases();
    for (size_t phase = 0; phase < phases; phase++) {
      if (phase > 0 && !sync()) return;
      const double phase_began = kProfile ? now() : 0;
      const size_t items = op.items(phase);
      Shares shares(&shares_[first_share_[i] + phase * options_.threads], options_.threads, items, index);
      ProductTrials* const trials = active_[i];
      bool begun = false;
      for (size_t item; shares.take(&item);) {
        if (cancel_->load(std::memory_order_relaxed)) break;
        if (!begun) {
          op.begin(phase, thread);
          if (trials != nullptr) trials->begin(index);
        }
        begun = true;
        if (trials != nullptr)
          trials->run(index, item, thread.tuning, [&] { op.run(phase, item, thread); });
        else
          op.run(phase, item, thread);
      }
      if (kProfile) profile_->busy[index * ops_.size() + i] += static_cast<float>(now() - phase_began);
    }
    i++;
  }
  sync(ops_.size());
}

// How far the run came, counted in parts that threads take; nothing after a cancel.
void Session::fail_cancelled() const {
  size_t taken = 0, all = 0;
  for (size_t i = 0; i < ops_.size(); i++) {
    const size_t phases = ops_[i]->phases();
    for (size_t phase = 0; phase < phases; phase++) all += ops_[i]->items(phase);
    for (size_t share = 0; share < phases * options_.threads; share++)
      taken += shares_[first_share_[i] + share].count();
  }
  fail(Code::cancelled, "Cancelled after %zu of %zu parts.", taken, all);
}

// Once through the plan.
void Session::compute(Pool& pool, const std::atomic<bool>& cancel, Profile* profile) {
  cancel_ = &cancel;
  placement_ = &pool.placement();
  failure_.failed.store(false);
  failure_.claimed.store(false);
  halt_.store(false);
  for (size_t i = 0; i < share_count_; i++) shares_[i].reset();
  gate_.reset(options_.threads);
  profile_ = profile;
  if (profile != nullptr) {
    profile->start.resize(ops_.size());
    profile->seconds.resize(ops_.size());
    profile->busy.resize(ops_.size() * options_.threads);
    executed_.assign(ops_.size(), 0);
    stamped_ = SIZE_MAX;
  }
  began_ = now();
  const auto work = profile != nullptr
                        ? [](void* self, size_t thread) { static_cast<Session*>(self)->execute<true>(thread); }
                        : [](void* self, size_t thread) { static_cast<Session*>(self)->execute<false>(thread); };
  pool.run(options_.threads, work, this);

  if (cancel.load()) fail_cancelled();
  if (failure_.failed.load()) throw Error(failure_.code, failure_.message);
  if (profile == nullptr) return;
  for (size_t i = 0; i < ops_.size(); i++)
    profile->traffic.push_back(static_cast<double>(ops_[i]->traffic()) * executed_[i]);
}

Drawing Session::begin(const RunRequest& request, const std::atomic<bool>&) {
  check_series(request);
  if (plan_->weights) plan_->weights->check();
  bind_symbols(request);
  set_inputs(request);
  if (request.series)
    for (const std::string& name : {request.series->token, request.series->position}) integer_input(name);
  return {request, std::exchange(drawn_, {})};
}

RunResult Session::run(Pool& pool, const RunRequest& request, const std::atomic<bool>& cancel) {
  Drawing drawing = begin(request, cancel);
  RunResult result;
  const double start = now();
  if (request.profile) result.profile.emplace();
  compute(pool, cancel, request.profile ? &*result.profile : nullptr);
  if (request.sample) draw(pool, request, drawing, cancel);
  if (request.score) {
    const Tensor& all = logits(request);
    result.scored = score(*options_.kernels, pool, options_.threads, all.f32(), all.rows(), all.last(), *request.score);
  }
  end(request, std::move(drawing), result);
  result.seconds = now() - start;
  return result;
}

// Calls visit(state data, byte offset, bytes) for every piece of the states up to `positions`; of
// none, for those that do not count them or, being rings, forget what stands before.
template <class Visit>
void Session::each_state_run(size_t positions, Visit&& visit) const {
  for (size_t i = 0; i < states_.size(); i++) {
    const StatePlan& state = plan_->states[i];
    Tensor tensor;
    bind_shape(plan_->tensors[state.tensor], symbols_, tensor);
    if (state.axis < 0) {
      visit(i, size_t{0}, tensor.bytes);
      continue;
    }
    const auto axis = static_cast<size_t>(state.axis);
    const size_t rows = tensor.shape[axis];
    if (positions > rows && !state.is_ring)
      fail(Code::run_context_full, "[session] %zu positions: the cache holds %zu", positions, rows);
    const size_t held = state.is_ring && positions == 0 ? rows : std::min(positions, rows);
    const size_t row = tensor.span(axis + 1, tensor.rank) * dtype_bytes(tensor.dtype);
    const size_t outer = tensor.span(0, axis);
    for (size_t o = 0; o < outer; o++) visit(i, o * rows * row, held * row);
  }
}

std::shared_ptr<Session> Session::fork(size_t positions) const {
  auto copy = std::make_shared<Session>(plan_, options_);
  each_state_run(positions, [&](size_t state, size_t offset, size_t bytes) {
    std::memcpy(copy->states_[state].data() + offset, states_[state].data() + offset, bytes);
  });
  return copy;
}

std::vector<uint8_t> Session::save(size_t positions) const {
  std::vector<uint8_t> saved;
  saved.reserve(state_bytes(positions));
  each_state_run(positions, [&](size_t state, size_t offset, size_t bytes) {
    saved.insert(saved.end(), states_[state].data() + offset, states_[state].data() + offset + bytes);
  });
  return saved;
}

void Session::restore(size_t positions, const uint8_t* bytes, size_t size) {
  if (size != state_bytes(positions))
    fail(Code::input_argument, "[session] saved state: got %zu bytes, expected %zu", size, state_bytes(positions));
  each_state_run(positions, [&](size_t state, size_t offset, size_t length) {
    std::memcpy(states_[state].data() + offset, bytes, length);
    bytes += length;
  });
}

void Session::reset() {
  drawn_.clear();
  for (Pages& state : states_) state.clear();
  bound_ = false;
}

size_t Session::state_bytes() const {
  size_t total = 0;
  for (const Pages& state : states_) total += state.bytes();
  return total;
}

size_t Session::state_bytes(size_t positions) const {
  size_t total = 0;
  each_state_run(positions, [&](size_t, size_t, size_t bytes) { total += bytes; });
  return total;
}

size_t Session::reserved_bytes() const {
  size_t total = arena_.bytes() + scratch_.bytes() + state_bytes();
  for (const Pages& pages : inputs_) total += pages.bytes();
  for (const Pages& pages : own_) total += pages.bytes();
  return total;
}

}  // namespace rlx
