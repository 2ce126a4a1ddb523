// A run that draws tokens, between its steps: the same for every engine.
#pragma once

#include <cstdint>
#include <vector>

#include "session.h"

namespace rlx {

struct Drawing {
  SampleRequest sampling;  // of the next draw
  std::vector<Sampled> drawn;

  Drawing() = default;
  // Of a checked request. `followed`: the tokens that it follows, which penalties count.
  Drawing(const RunRequest& request, const std::vector<int32_t>& followed);

  // True when the token is the run's last one.
  bool take(const RunRequest& request, Sampled sampled);
  // Moves what was drawn into the result. Gives the tokens that the session's next run may follow:
  // none behind an ending.
  std::vector<int32_t> finish(const RunRequest& request, RunResult& result);
};

// Throws INPUT_ARGUMENT for a series that no engine can draw.
void check_series(const RunRequest& request);
// True for a step of one token that draws it or gives its outputs: such runs can be joined.
bool is_one_step(const RunRequest& request);

}  // namespace rlx
