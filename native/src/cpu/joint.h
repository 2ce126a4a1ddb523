// Joined runs on the CPU engine: a step of several sessions walks the plan once (joint_step.h).
#pragma once

#include <memory>
#include <vector>

#include "../core/joint.h"
#include "joint_step.h"

namespace rlx {

class CpuJoint final : public Joint<Session> {
 public:
  // True for a step of one token of a plan without branches.
  static bool takes(const Session& session, const RunRequest& request) {
    return session.is_straight() && is_one_step(request);
  }

  explicit CpuJoint(Pool& pool) : pool_(pool) {}

 private:
  std::vector<Stepped> step(const std::vector<Run>& members) override;
  std::vector<Stepped> draw(const std::vector<Run>& members);

  Pool& pool_;
  std::unique_ptr<JointStep> step_;
};

}  // namespace rlx
