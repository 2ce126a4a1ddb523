// Drawing and scoring tokens: requests, answers, and the random numbers that all engines share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rlx {

// The steps in their order: logit biases, penalties, temperature, top-k, top-p, min-p, draw. Chains
// with other steps are drawn in TypeScript: main/runtime/sampling/chain.ts has them all.
struct SampleRequest {
  double temperature = 0;                         // 0: the most probable token
  size_t top_k = 0;                               // 0: off
  double top_p = 1;                               // 1: off
  double min_p = 0;                               // 0: off
  double repeat_penalty = 1;                      // 1: off
  double frequency_penalty = 0;                   // for each time that a token is among `recent`
  double presence_penalty = 0;                    // once
  std::vector<std::pair<int32_t, float>> biases;  // added to the logits of these tokens
  std::vector<int32_t> recent;  // tokens that the penalties apply to; tokens drawn during a run are added
  size_t window = SIZE_MAX;     // at most this many of `recent` count, the last ones
  uint32_t seed = 0;
  uint64_t step = 0;        // counter of the random numbers: the same seed and step give the same number
  size_t alternatives = 0;  // how many of the most probable tokens to report

  void add_recent(std::span<const int32_t> drawn);
  bool penalises() const { return repeat_penalty != 1 || frequency_penalty != 0 || presence_penalty != 0; }
};

struct TokenProbability {
  uint32_t id;
  float logprob;  // the model's own: before penalty, temperature and filters
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

// Throws INPUT_ARGUMENT unless there is one target per row, each below `vocabulary`.
void check_targets(const ScoreRequest& request, size_t rows, size_t vocabulary);

// What is added to tokens of the vocabulary before anything else.
std::vector<std::pair<int32_t, float>> biased_tokens(const SampleRequest& request, size_t vocabulary);

struct PenalisedToken {
  int32_t id;
  float amount;  // what frequency and presence take, after the repetition penalty
};
// The tokens that the penalties apply to, each once; none where the penalties are off.
std::vector<PenalisedToken> penalised_tokens(const SampleRequest& request, size_t vocabulary);

// Philox4x32-10 (Salmon et al., 2011): four random words from a counter and a key.
void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
// A number in [0, 1) with 53 random bits.
double philox_uniform(uint32_t seed, uint64_t step);

}  // namespace rlx
