// From logits to a token, natively: the logits never leave. Order of the steps: repetition penalty, temperature,
// top-k, top-p, min-p, draw. The probability reported is the model's own (before all of them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../core/memory.h"
#include "../core/pool.h"
#include "kernels/kernels.h"

namespace rlx {

struct SampleRequest {
  double temperature = 0;     // 0: the most probable token
  size_t top_k = 0;           // 0: off
  double top_p = 1;           // 1: off
  double min_p = 0;           // 0: off
  double repeat_penalty = 1;  // 1: off
  std::vector<int32_t> recent;  // tokens that the penalty is for; what a run follows, or has drawn, is added behind them
  size_t window = SIZE_MAX;     // that many of them at most, the last ones
  uint32_t seed = 0;
  uint64_t step = 0;          // counter of the random numbers: the same seed and step give the same number
  size_t alternatives = 0;    // how many of the most probable tokens to report

  void add_recent(std::span<const int32_t> drawn) {
    recent.insert(recent.end(), drawn.begin(), drawn.end());
    if (recent.size() > window) recent.erase(recent.begin(), recent.end() - static_cast<ptrdiff_t>(window));
  }
};

struct TokenProbability {
  uint32_t id;
  float logprob;
};

struct Sampled {
  TokenProbability token;
  std::vector<TokenProbability> top;

  int32_t id() const { return static_cast<int32_t>(token.id); }
};

struct ScoreRequest {
  std::vector<int32_t> targets;  // one per row of logits; -1: none
};

struct Scored {
  std::vector<float> logprobs;  // of each row's target, 0 where there is none
  std::vector<int32_t> best;    // most probable token of each row
};

Sampled sample(const kernels::Dispatch& kernels, Pool& pool, size_t threads, const float* logits, size_t vocabulary,
               const SampleRequest& request, Pages& work);
Scored score(const kernels::Dispatch& kernels, Pool& pool, size_t threads, const float* logits, size_t rows, size_t vocabulary,
             const ScoreRequest& request);

// The tokens that the repetition penalty is for, each once.
std::vector<int32_t> penalised_tokens(const SampleRequest& request, size_t vocabulary);

// Philox4x32-10 (Salmon et al., 2011): four random words from a counter and a key.
void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
// A number in [0, 1) with 53 random bits.
double philox_uniform(uint32_t seed, uint64_t step);

}  // namespace rlx
