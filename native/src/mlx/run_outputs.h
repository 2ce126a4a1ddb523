// Arrays that a run fetches, draws or scores: evaluated together with the states, then read.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../core/session.h"
#include "draw.h"
#include "plan.h"

namespace rlx::gpu {

class RunOutputs {
 public:
  // `results` are those of the plan; `sampling` is how the run draws now, if it draws.
  RunOutputs(const Plan& plan, const RunRequest& request, const SampleRequest& sampling,
             const std::vector<mx::array>& results);
  void add_to(std::vector<mx::array>& wanted) const;
  // The token of a run that draws.
  Sampled drawn() const { return draw_->read(); }
  // Into `outputs`, whose memory is used again, and scores into `result`.
  void read(const Plan& plan, const RunRequest& request, std::vector<Fetched>& outputs, RunResult& result) const;

 private:
  std::vector<std::pair<size_t, mx::array>> fetched_;  // output, row-major
  std::optional<Draw> draw_;
  struct Score {
    mx::array logprobs, bests;
  };
  std::optional<Score> score_;
};

}  // namespace rlx::gpu
