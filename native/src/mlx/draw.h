// A token drawn on the device, so that logits never leave it: the same steps in the same order as the CPU engine's sampler
// (cpu/sampler.h), with its random numbers. What is left of a difference is rounding: probabilities are f32 here.
#pragma once

#include <mlx/array.h>

#include <optional>
#include <vector>

#include "../cpu/sampler.h"

namespace rlx::gpu {

namespace mx = mlx::core;

// Unevaluated; what it needs is evaluated together with the rest of a run.
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
