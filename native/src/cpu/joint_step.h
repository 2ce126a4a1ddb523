// One step of several sessions of a plan together: the flat list is walked once for all of them.
// Products with weights take the rows of all sessions, so that the weights are read once; every
// other instruction runs for each session on its own, with its own sizes, states and arena, and
// its items are handed out to all threads. A failure in one session leaves the others alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "session.h"

namespace rlx {

class JointStep {
 public:
  // Sessions of one plan (Session::joins) without branches, whose inputs are set. More than one, at
  // most kMostJoined.
  explicit JointStep(std::span<Session* const> members);

  // True for these sessions in this order, bound as they were when this was made.
  bool is_of(std::span<Session* const> members) const;
  // Ends early when `cancelled` answers true. The failures of a step stay in their sessions.
  void run(Pool& pool, const std::function<bool()>& cancelled);
  // Throws what went wrong in a member in the last step.
  static void check(const Session& member);

 private:
  struct Instruction {
    Op* joined = nullptr;  // or each member's own op
    size_t phases = 1;     // the most of any member
    size_t first_share = 0;
  };

  void execute(size_t thread);
  void run_joined(Instruction& instruction, size_t phase, Thread& thread);
  void run_each(size_t at, size_t phase, size_t thread, kernels::Tuning tuning);
  bool sync(size_t thread);
  Session& first() const { return *members_.front(); }

  std::vector<Session*> members_;
  std::vector<uint64_t> bindings_;  // of each member
  std::vector<std::unique_ptr<Op>> joined_;
  std::vector<Instruction> instructions_;
  std::vector<Wait> waits_;
  std::unique_ptr<Share[]> shares_;
  size_t share_count_ = 0;
  Pages scratch_;  // of the joined ops
  size_t thread_bytes_ = 64;

  // Of the current step.
  Barrier gate_;
  CorePlacement* placement_ = nullptr;
  const std::function<bool()>* cancelled_ = nullptr;
  std::atomic<bool> halt_{false};
};

}  // namespace rlx
