// Draws a token on the device, so that logits never leave it: the steps of core/sampling.h in their
// order, with the same random numbers as the CPU engine. Only rounding differs: probabilities are
// f32 here.
#pragma once

#include <mlx/array.h>

#include <optional>
#include <vector>

#include "../core/sampling.h"

namespace rlx::gpu {

namespace mx = mlx::core;

// Unevaluated: evaluated together with the rest of a run.
struct Draw {
  mx::array token;                   // i32
  mx::array logprob;                 // f32, the model's own
  std::optional<mx::array> largest;  // of the logits that were drawn from: they must be finite
  std::optional<mx::array> top, top_logprobs;

  void add_to(std::vector<mx::array>& wanted) const;
  // After the evaluation.
  Sampled read() const;
};

// `logits`: one row, f32.
Draw draw_token(const mx::array& logits, const SampleRequest& request);

}  // namespace rlx::gpu
