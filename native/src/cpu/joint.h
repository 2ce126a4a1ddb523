// Runs that are joined: requests for one token a step, of any number of sessions. They wait here in
// the order of the lane, and each is driven to its end at its turn there. While one is driven, all
// others that may start join its steps, between any two of them, and stay until they are done; so a
// run may end before its turn, and what else stands on the lane runs in between.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "../core/error.h"
#include "joint_step.h"

namespace rlx {

struct JointRun {
  std::shared_ptr<Session> session;
  RunRequest request;
  const std::atomic<bool>* cancel = nullptr;
  bool early = true;  // it may start before its turn: nothing else is queued for its session
  std::function<void(std::unique_ptr<Error>)> done;  // on the engine's thread, once
  RunResult result;

  // Of the engine's thread.
  enum class State : uint8_t { waiting, running, ended } state = State::waiting;
  Drawing drawing;
};

class Joint {
 public:
  using Run = std::shared_ptr<JointRun>;

  // True for a step of one token that draws it or gives its logits.
  static bool takes(const Session& session, const RunRequest& request);
  // In the order of the lane. From any thread.
  void add(Run run);
  // Its turn on the lane: returns when it has ended.
  void drive(Pool& pool, const Run& run);

 private:
  void await_others();
  void admit(const Run& run);
  void start(const Run& run);
  void end(const Run& run, std::unique_ptr<Error> error);
  void step(Pool& pool, const std::vector<Run>& members);
  void take(Pool& pool, const std::vector<Run>& members, double began);

  std::mutex mutex_;
  std::vector<Run> waiting_;
  // Of the engine's thread.
  std::vector<Run> running_;
  std::unique_ptr<JointStep> step_;
  std::vector<const Session*> last_;  // the sessions of the last step that had several
  double last_began_ = 0, last_ended_ = 0;
};

}  // namespace rlx
