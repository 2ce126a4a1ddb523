#include "draw.h"

#include <mlx/ops.h>

#include <algorithm>
#include <cmath>

#include "../core/error.h"

namespace rlx::gpu {
namespace {

using mx::array;

array number(double value) { return array(static_cast<float>(value), mx::float32); }
array first(const array& x, int count) { return mx::slice(x, {0}, {count}); }

array biased(const array& logits, const SampleRequest& request) {
  const auto biases = biased_tokens(request, logits.size());
  if (biases.empty()) return logits;
  std::vector<int32_t> tokens;
  std::vector<float> amounts;
  for (const auto& [id, bias] : biases) {
    tokens.push_back(id);
    amounts.push_back(bias);
  }
  const int count = static_cast<int>(tokens.size());
  const array ids(tokens.data(), {count}, mx::int32), added(amounts.data(), {count}, mx::float32);
  return mx::put_along_axis(logits, ids, mx::add(mx::take(logits, ids, 0), added), 0);
}

array penalised(const array& logits, const SampleRequest& request) {
  const std::vector<PenalisedToken> penalised = penalised_tokens(request, logits.size());
  if (penalised.empty()) return logits;
  std::vector<int32_t> tokens;
  std::vector<float> amounts;
  for (const auto& [id, amount] : penalised) {
    tokens.push_back(id);
    amounts.push_back(amount);
  }
  const int count = static_cast<int>(tokens.size());
  const array ids(tokens.data(), {count}, mx::int32);
  const array found = mx::take(logits, ids, 0), penalty = number(request.repeat_penalty);
  array moved = mx::where(mx::greater(found, number(0)), mx::divide(found, penalty), mx::multiply(found, penalty));
  if (request.frequency_penalty != 0 || request.presence_penalty != 0)
    moved = mx::subtract(moved, array(amounts.data(), {count}, mx::float32));
  return mx::put_along_axis(logits, ids, moved, 0);
}

// Indices of the `count` largest in falling order. Only those are sorted, by index first, because a
// sort keeps the order of equals.
array largest_of(const array& x, int count) {
  const array falling = mx::negative(x);
  if (count >= x.shape(0)) return mx::argsort(falling, 0);
  const array ids = mx::sort(first(mx::argpartition(falling, count - 1, 0), count), 0);
  return mx::take(ids, mx::argsort(mx::take(falling, ids, 0), 0), 0);
}

// Which of the falling weights (the first is 1) top-p and min-p keep: the first ones, at least one.
array kept_weights(const array& weights, const SampleRequest& request) {
  array keep = mx::less(mx::arange(0, weights.shape(0), 1), array(1));
  array may = mx::full({weights.shape(0)}, true, mx::bool_);
  if (request.top_p < 1) {
    const array up_to = mx::cumsum(weights, 0);
    const array before = mx::subtract(up_to, weights);
    may = mx::less(before, mx::multiply(number(request.top_p), mx::max(up_to)));
  }
  if (request.min_p > 0) may = mx::logical_and(may, mx::greater_equal(weights, number(request.min_p)));
  return mx::logical_or(keep, may);
}

// The index where the running sum of the kept weights passes a random share of it.
array chosen(const array& weights, const array& keep, double share) {
  const array sums = mx::cumsum(mx::where(keep, weights, number(0)), 0);
  const array passed = mx::sum(mx::astype(mx::less_equal(sums, mx::multiply(number(share), mx::max(sums))), mx::int32));
  return mx::minimum(passed, mx::subtract(mx::sum(mx::astype(keep, mx::int32)), array(1)));
}

}  // namespace

void Draw::add_to(std::vector<mx::array>& wanted) const {
  wanted.push_back(token);
  wanted.push_back(logprob);
  for (const auto* part : {&largest, &top, &top_logprobs})
    if (*part) wanted.push_back(**part);
}

Sampled Draw::read() const {
  if (largest && !std::isfinite(array(*largest).item<float>()))
    fail(Code::run_failed, "[sample] the logits are not finite");
  Sampled result{{static_cast<uint32_t>(array(token).item<int32_t>()), array(logprob).item<float>()}, {}};
  if (top)
    for (size_t i = 0; i < top->size(); i++)
      result.top.push_back({static_cast<uint32_t>(top->data<int32_t>()[i]), top_logprobs->data<float>()[i]});
  return result;
}

Draw draw_token(const mx::array& row, const SampleRequest& request) {
  const array logits = mx::reshape(row, {-1});
  const int vocabulary = logits.shape(0);
  const array adjusted = penalised(biased(logits, request), request);
  const auto within = [&](size_t count) { return static_cast<int>(std::min(count, static_cast<size_t>(vocabulary))); };

  array token = array(0);
  std::optional<array> largest;
  if (request.temperature <= 0 || request.top_k == 1) {
    token = mx::argmax(adjusted, 0);
  } else {
    const array ids = largest_of(adjusted, request.top_k == 0 ? vocabulary : within(request.top_k));
    const array values = mx::take(adjusted, ids, 0);
    largest = first(values, 1);
    // Below this, dividing gives the same: all weights but the largest are 0.
    const double temperature = std::max(request.temperature, 1e-30);
    const array weights = mx::exp(mx::divide(mx::subtract(values, *largest), number(temperature)));
    token =
        mx::take(ids, chosen(weights, kept_weights(weights, request), philox_uniform(request.seed, request.step)), 0);
  }
  const array all = mx::logsumexp(logits, 0);
  Draw draw{mx::astype(token, mx::int32), mx::subtract(mx::take(logits, token, 0), all), largest, std::nullopt,
            std::nullopt};
  if (request.alternatives > 0) {
    const array ids = largest_of(logits, within(request.alternatives));
    draw.top = mx::contiguous(mx::astype(ids, mx::int32));
    draw.top_logprobs = mx::contiguous(mx::subtract(mx::take(logits, ids, 0), all));
  }
  return draw;
}

}  // namespace rlx::gpu
