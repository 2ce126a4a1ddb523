#include "sampling.h"

#include <algorithm>

#include "error.h"

namespace rlx {

void SampleRequest::add_recent(std::span<const int32_t> drawn) {
  recent.insert(recent.end(), drawn.begin(), drawn.end());
  if (recent.size() > window) recent.erase(recent.begin(), recent.end() - static_cast<ptrdiff_t>(window));
}

void check_targets(const ScoreRequest& request, size_t rows, size_t vocabulary) {
  if (request.targets.size() != rows)
    fail(Code::input_argument, "[score] targets: got %zu, expected one for each of %zu rows", request.targets.size(),
         rows);
  for (const int32_t target : request.targets)
    if (target >= 0 && static_cast<size_t>(target) >= vocabulary)
      fail(Code::input_argument, "[score] token %d: the vocabulary has %zu", target, vocabulary);
}

std::vector<std::pair<int32_t, float>> biased_tokens(const SampleRequest& request, size_t vocabulary) {
  std::vector<std::pair<int32_t, float>> biases = request.biases;
  std::erase_if(biases,
                [&](const auto& entry) { return entry.first < 0 || static_cast<size_t>(entry.first) >= vocabulary; });
  return biases;
}

std::vector<PenalisedToken> penalised_tokens(const SampleRequest& request, size_t vocabulary) {
  std::vector<PenalisedToken> result;
  if (!request.penalises()) return result;
  std::vector<int32_t> tokens = request.recent;
  std::sort(tokens.begin(), tokens.end());
  for (auto at = tokens.begin(); at != tokens.end();) {
    const auto end = std::upper_bound(at, tokens.end(), *at);
    if (*at >= 0 && static_cast<size_t>(*at) < vocabulary)
      result.push_back({*at, static_cast<float>(static_cast<double>(end - at) * request.frequency_penalty +
                                                request.presence_penalty)});
    at = end;
  }
  return result;
}

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57} * c2;
    const auto h0 = static_cast<uint32_t>(p0 >> 32), l0 = static_cast<uint32_t>(p0);
    const auto h1 = static_cast<uint32_t>(p1 >> 32), l1 = static_cast<uint32_t>(p1);
    c0 = h1 ^ c1 ^ k0;
    c1 = l1;
    c2 = h0 ^ c3 ^ k1;
    c3 = l0;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

double philox_uniform(uint32_t seed, uint64_t step) {
  const uint32_t counter[4] = {static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32), 0, 0};
  const uint32_t key[2] = {seed, 0};
  uint32_t out[4];
  philox4x32(counter, key, out);
  const uint64_t bits = (static_cast<uint64_t>(out[0]) << 21) ^ (out[1] >> 11);
  return static_cast<double>(bits & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
}

}  // namespace rlx
