// Joined runs on MLX: a step of several sessions is one walk of the plan (joint_body.h), and one
// evaluation.
#pragma once

#include <vector>

#include "../core/joint.h"
#include "session.h"

namespace rlx::gpu {

class MlxJoint final : public Joint<Session> {
 public:
  static bool takes(const Session&, const RunRequest& request) { return is_one_step(request); }

 private:
  std::vector<Stepped> step(const std::vector<Run>& members) override;
};

}  // namespace rlx::gpu
