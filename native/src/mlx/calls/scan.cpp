// Recurrences over the tokens of a step with a state for each head. Blocks of tokens follow one
// another; inside a block all tokens are computed at once.
#include "family.h"

#include <algorithm>

namespace rlx::gpu {
namespace {

// Tokens of a block: pairs of them are held for each head, or states of all of them.
constexpr int kPairs = 64, kStates = 16;

array rows_of(const array& x, int from, int to) {
  mx::Shape first(x.ndim(), 0), last = x.shape();
  first[0] = from;
  last[0] = to;
  return mx::slice(x, first, last);
}
array head_first(const array& x) { return mx::transpose(x, {1, 0, 2}); }
array flipped(const array& x) { return mx::transpose(x, {0, 2, 1}); }

struct Block {
  array x, decay, b, c;  // [T, H, P], [T, H, 1 or N], [T, H, N]
  array state;           // [H, P, N]
  bool before;
};

// y = (c·b, decayed from token to token, of all pairs) x + decayed c·state.
Arrays by_pairs(const Block& k) {
  const int tokens = k.x.shape(0);
  const array x = head_first(k.x), b = head_first(k.b), c = head_first(k.c), decay = head_first(k.decay);
  const array place = mx::reshape(mx::arange(0, tokens, 1), {tokens, 1}), source = mx::arange(0, tokens, 1);
  const array none = like(0, x);
  const array between = mx::cumsum(mx::where(mx::greater(place, source), decay, none), 1, false, !k.before);
  const array scores = mx::multiply(mx::matmul(c, flipped(b)), mx::exp(between));
  const array seen = mx::where(k.before ? mx::greater(place, source) : mx::greater_equal(place, source), scores, none);
  const array since = mx::exp(mx::cumsum(decay, 1, false, !k.before));
  const array old = mx::multiply(mx::matmul(c, flipped(k.state)), since);
  const array y = head_first(mx::add(mx::matmul(seen, x), old));
  const array left = mx::exp(mx::cumsum(decay, 1, true, false));
  const array kept = mx::multiply(k.state, mx::exp(mx::sum(decay, 1, true)));
  return {y, mx::add(kept, mx::matmul(flipped(x), mx::multiply(b, left)))};
}

// `by` rows of `edge`, then x without its last rows.
array back(const array& x, int by, double edge) {
  mx::Shape rows = x.shape();
  rows[0] = by;
  return mx::concatenate({mx::full(rows, like(edge, x)), rows_of(x, 0, x.shape(0) - by)}, 0);
}

// State t = (product of decays up to t) · state + sum up to t; both reach 1, 2, 4 … tokens back.
Arrays by_doubling(const Block& k) {
  const int tokens = k.x.shape(0);
  array kept = mx::expand_dims(mx::exp(k.decay), 2);
  array sum = mx::multiply(mx::expand_dims(k.x, 3), mx::expand_dims(k.b, 2));
  for (int reach = 1; reach < tokens; reach *= 2) {
    sum = mx::add(sum, mx::multiply(kept, back(sum, reach, 0)));
    kept = mx::multiply(kept, back(kept, reach, 1));
  }
  const array first = mx::expand_dims(k.state, 0);
  const array states = mx::add(mx::multiply(kept, first), sum);
  const array seen = !k.before ? states : mx::concatenate({first, rows_of(states, 0, tokens - 1)}, 0);
  const array y = mx::sum(mx::multiply(seen, mx::expand_dims(k.c, 2)), 3, false);
  return {y, mx::squeeze(rows_of(states, tokens - 1, tokens), 0)};
}

Arrays selective_scan(const Invocation& c) {
  const array &x = c.in(0), &b = c.in(3);
  array state = c.in(5);
  const array decay = mx::multiply(c.in(1), c.in(2));
  const int tokens = x.shape(0), heads = x.shape(1), groups = b.shape(1);
  const bool pairs = decay.shape(2) == 1;
  const int most = pairs ? kPairs : kStates;
  const auto each_head = [&](const array& all) { return groups == heads ? all : mx::repeat(all, heads / groups, 1); };
  Arrays results;
  for (int from = 0; from < tokens; from += most) {
    const int to = std::min(tokens, from + most);
    const Block block{rows_of(x, from, to),
                      rows_of(decay, from, to),
                      each_head(rows_of(b, from, to)),
                      each_head(rows_of(c.in(4), from, to)),
                      state,
                      c.flag("before")};
    const Arrays made = pairs ? by_pairs(block) : by_doubling(block);
    results.push_back(made[0]);
    state = made[1];
  }
  return {results.size() == 1 ? results[0] : mx::concatenate(results, 0), state};
}

// Token after token: state ← state · (diag(decay) + a bᵀ) + v kᵀ, y = state r.
Arrays wkv7(const Invocation& c) {
  array state = c.in(6);
  const int tokens = c.in(0).shape(0);
  const auto line = [&](size_t operand, int t) {
    return mx::expand_dims(mx::squeeze(rows_of(c.in(operand), t, t + 1), 0), 1);
  };
  const auto column = [&](size_t operand, int t) {
    return mx::expand_dims(mx::squeeze(rows_of(c.in(operand), t, t + 1), 0), 2);
  };
  Arrays rows;
  for (int t = 0; t < tokens; t++) {
    const array held = mx::matmul(state, column(4, t));
    const array kept = mx::add(mx::multiply(state, line(1, t)), mx::multiply(held, line(5, t)));
    state = mx::add(kept, mx::multiply(column(3, t), line(2, t)));
    rows.push_back(mx::squeeze(mx::matmul(state, column(0, t)), 2));
  }
  return {mx::stack(rows, 0), state};
}

const Function kTable[] = {
    {"wkv7", 7, 7, wkv7},
    {"selective_scan", 6, 6, selective_scan},
};

}  // namespace

std::span<const Function> scan_calls() { return kTable; }

}  // namespace rlx::gpu
