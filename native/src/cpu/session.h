// A CPU session: one plan bound to memory of its own (arena, states, inputs, outputs), run
// instruction by instruction on the pool.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../core/drawing.h"
#include "../core/memory.h"
#include "../core/pool.h"
#include "../core/session.h"
#include "kernel.h"
#include "plan.h"
#include "sample.h"
#include "share.h"

namespace rlx {

struct SessionOptions {
  size_t threads = 1;
  const kernels::Dispatch* kernels = nullptr;
  const PrefetchTuner* tuner = nullptr;  // shared by sessions; null: kernels run with the default settings
  std::vector<std::pair<std::string, size_t>> symbols;  // sizes that states need, fixed for the session's life
};

// What a thread waits for before an instruction.
enum class Wait : uint8_t { none, barrier, decision };
// Where the instructions of a list need one. The ops are bound.
std::vector<Wait> waits_of(const std::vector<const Op*>& ops);

class Session {
 public:
  Session(std::shared_ptr<Plan> plan, SessionOptions options);

  RunResult run(Pool& pool, const RunRequest& request, const std::atomic<bool>& cancel);
  // A new session with the same states; of states with a position axis only the first `positions`.
  std::shared_ptr<Session> fork(size_t positions) const;
  // Bytes of the states up to `positions`, and the way back.
  std::vector<uint8_t> save(size_t positions) const;
  void restore(size_t positions, const uint8_t* bytes, size_t size);
  // All states zero again.
  void reset();

  // What is reserved (the system gives pages as they are touched), and the part that states can
  // take.
  size_t reserved_bytes() const;
  size_t state_bytes() const;
  size_t state_bytes(size_t positions) const;
  const Plan& plan() const { return *plan_; }

  // A run in parts: begin, then a step, and where it draws sample and take, until take answers
  // true; then end. Steps are the session's own, or joint ones (joint_step.h).
  Drawing begin(const RunRequest& request, const std::atomic<bool>& cancel);
  void step(Pool& pool, const std::atomic<bool>& cancel) { compute(pool, cancel, nullptr); }
  Sampled sample(Pool& pool, size_t threads, const RunRequest& request, const SampleRequest& sampling);
  // True when the token is the last one; otherwise the inputs are those of the next step.
  bool take(const RunRequest& request, Drawing& drawing, Sampled sampled);
  void end(const RunRequest& request, Drawing drawing, RunResult& result);
  // True if steps of the two may be joint: the same plan, run alike.
  bool joins(const Session& other) const;
  size_t threads() const { return options_.threads; }
  // True for a plan that goes straight from its first instruction to its last.
  bool is_straight() const { return is_straight_; }

 private:
  friend class JointStep;
  void bind();
  void bind_tensor(size_t index);
  void tune(size_t at, const Op& op);
  void decide(size_t at);
  void stamp(size_t at);
  void make_ops();
  void bind_symbols(const RunRequest& request);
  void set_inputs(const RunRequest& request);
  const Tensor& logits(const RunRequest& request) const;
  [[noreturn]] void fail_cancelled() const;
  void compute(Pool& pool, const std::atomic<bool>& cancel, Profile* profile);
  void draw(Pool& pool, const RunRequest& request, Drawing& drawing, const std::atomic<bool>& cancel);
  size_t input(const std::string& name) const;
  int32_t& integer_input(const std::string& name);
  template <bool kProfile>
  void execute(size_t thread);
  template <class Visit>
  void each_state_run(size_t positions, Visit&& visit) const;
  const Tensor& output(const std::string& name) const;

  std::shared_ptr<Plan> plan_;
  SessionOptions options_;
  std::vector<size_t> symbols_;
  bool bound_ = false;
  bool is_straight_ = true;
  uint64_t binding_ = 0;  // another number each time that it is bound, in any session
  std::vector<Tensor> tensors_;
  std::vector<std::unique_ptr<Op>> ops_;
  std::vector<std::unique_ptr<ProductTrials>> trials_;  // of each op; made when it first runs with one token
  std::vector<ProductTrials*> active_;                  // those that go on with the sizes of this run, or null
  std::vector<Wait> waits_;                             // before this instruction
  std::vector<size_t> first_share_;  // of an instruction's first phase; `threads` shares for each phase
  std::unique_ptr<Share[]> shares_;
  size_t share_count_ = 0;

  Pages arena_;
  std::vector<Pages> states_;
  std::vector<Pages> inputs_;
  std::vector<Pages> own_;
  Pages scratch_;
  size_t thread_bytes_ = 0;
  Pages work_;  // the sampler's copy of a logits row

  std::vector<int32_t> drawn_;  // by the last run, if it drew and ended well
  // Of the current run.
  Barrier gate_;
  CorePlacement* placement_ = nullptr;  // of the pool that runs it
  const std::atomic<bool>* cancel_ = nullptr;
  Failure failure_;
  std::atomic<bool> halt_{false};
  size_t next_ = 0;  // instruction, after a decision
  Profile* profile_ = nullptr;
  std::vector<uint32_t> executed_;  // with a profile: how often each instruction ran
  double lap_ = 0;                  // when it began
  size_t stamped_ = 0;              // the instruction that the clock runs for, SIZE_MAX for none
  double began_ = 0;
};

}  // namespace rlx
