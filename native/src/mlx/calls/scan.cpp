// Recurrences over the tokens of a step with a state for each head. Blocks of tokens follow one
// another; inside a block all tokens are computed at once.
#include "family.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

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
  // MLX joins no rows to none. x has the shape of the answers.
  if (tokens == 0) return {x, state};
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

// The gated delta rule over q, k [T, H, N], v [T, H, V], gate [T, H] or [T, H, N], beta [T, H] and a
// state [H, N, V].
struct DeltaRule {
  array q, k, v, gate, beta, state;
  int tokens, heads, size, wide;
};

Arrays delta_by_token(const DeltaRule& rule) {
  const int heads = rule.heads, size = rule.size, wide = rule.wide;
  const bool shared = rule.gate.ndim() == 2;
  const array kept = mx::exp(rule.gate);
  const auto now = [heads](const array& x, int t, int rows, int columns) {
    mx::Shape from(x.ndim(), 0), to = x.shape();
    from[0] = t;
    to[0] = t + 1;
    return mx::reshape(mx::slice(x, from, to), {heads, rows, columns});
  };
  array state = rule.state;
  Arrays rows;
  for (int t = 0; t < rule.tokens; t++) {
    const array decayed = mx::multiply(state, now(kept, t, shared ? 1 : size, 1));
    const array known = mx::matmul(now(rule.k, t, 1, size), decayed);
    const array change = mx::multiply(mx::subtract(now(rule.v, t, 1, wide), known), now(rule.beta, t, 1, 1));
    state = mx::add(decayed, mx::multiply(now(rule.k, t, size, 1), change));
    rows.push_back(mx::reshape(mx::matmul(now(rule.q, t, 1, size), state), {1, heads, wide}));
  }
  const array result = rows.empty() ? mx::zeros({0, heads, wide}, rule.v.dtype()) : mx::concatenate(rows, 0);
  return {result, state};
}

// (1 + a)⁻¹ for strictly lower triangles a [.., rows, rows]. `inverse` holds the inverses of the
// blocks on the diagonal; each round joins two neighbours to a block of twice the size.
array unit_lower_inverse(const array& a, int rows) {
  const array i = mx::reshape(mx::arange(rows), {rows, 1}), j = mx::reshape(i, {1, rows});
  array inverse = mx::broadcast_to(mx::eye(rows), a.shape());
  for (int block = 1; block < rows; block *= 2) {
    const auto of = [block](const array& at, int each) { return mx::floor_divide(at, array(each * block)); };
    const array below = mx::logical_and(mx::equal(of(i, 2), of(j, 2)), mx::greater(of(i, 1), of(j, 1)));
    const array joint = mx::where(below, a, array(0.0f));
    inverse = mx::subtract(inverse, mx::matmul(mx::matmul(inverse, joint), inverse));
  }
  return inverse;
}

constexpr int kDeltaBlock = 64;

// The same for one gate a head, in blocks of tokens. With G the sum of the gates since the block
// began, and S the state there, what token t changes is
//   u_t = beta_t (v_t - e^G_t Sᵀk_t - sum over s < t of e^(G_t - G_s) (k_s · k_t) u_s),
// a triangular system; answers and the next state are products with u. Tokens that fill up the last
// block change nothing: their keys, gates and betas are zero.
Arrays delta_by_block(const DeltaRule& rule) {
  const int rows = std::min(kDeltaBlock, rule.tokens), heads = rule.heads;
  const int count = (rule.tokens + rows - 1) / rows;
  const auto cut = [&](const array& x, int columns) {
    const array flat = mx::reshape(x, {rule.tokens, heads * columns});
    const array full = mx::pad(flat, std::vector<std::pair<int, int>>{{0, count * rows - rule.tokens}, {0, 0}});
    return mx::transpose(mx::reshape(full, {count, rows, heads, columns}), {0, 2, 1, 3});
  };
  const array q = cut(rule.q, rule.size), k = cut(rule.k, rule.size), v = cut(rule.v, rule.wide);
  const array beta = cut(rule.beta, 1), sums = mx::cumsum(cut(rule.gate, 1), 2);
  const array all = mx::slice(sums, {0, 0, rows - 1, 0}, {count, heads, rows, 1});
  const array i = mx::reshape(mx::arange(rows), {rows, 1}), j = mx::reshape(i, {1, rows});
  const array seen = mx::greater_equal(i, j), zero = array(0.0f);
  const array between = mx::where(seen, mx::subtract(sums, mx::swapaxes(sums, 2, 3)), zero);
  const array kept = mx::where(seen, mx::exp(between), zero);
  const array keys = mx::swapaxes(k, 2, 3);
  const array known = mx::multiply(mx::multiply(mx::matmul(k, keys), kept), beta);
  const array inverse = unit_lower_inverse(mx::where(mx::greater(i, j), known, zero), rows);
  const array decay = mx::exp(sums);
  const array fresh = mx::matmul(inverse, mx::multiply(v, beta));
  const array recalled = mx::matmul(inverse, mx::multiply(k, mx::multiply(beta, decay)));
  const array asked = mx::multiply(q, decay), scores = mx::multiply(mx::matmul(q, keys), kept);
  const array learnt = mx::multiply(keys, mx::swapaxes(mx::exp(mx::subtract(all, sums)), 2, 3));
  const array left = mx::exp(all);
  const auto part = [](const array& x, int block) {
    mx::Shape from(4, 0), to = x.shape();
    from[0] = block;
    to[0] = block + 1;
    return mx::squeeze(mx::slice(x, from, to), 0);
  };
  array state = rule.state;
  Arrays answers;
  for (int block = 0; block < count; block++) {
    const array change = mx::subtract(part(fresh, block), mx::matmul(part(recalled, block), state));
    answers.push_back(mx::add(mx::matmul(part(asked, block), state), mx::matmul(part(scores, block), change)));
    state = mx::add(mx::multiply(state, part(left, block)), mx::matmul(part(learnt, block), change));
  }
  const array rows_first = mx::transpose(mx::stack(answers, 0), {0, 2, 1, 3});
  const array flat = mx::reshape(rows_first, {count * rows, heads, rule.wide});
  return {mx::slice(flat, {0, 0, 0}, {rule.tokens, heads, rule.wide}), state};
}

Arrays gated_delta(const Invocation& c) {
  const array &q = c.in(0), &v = c.in(2);
  const int size = q.shape(2);
  const DeltaRule rule{mx::multiply(q, like(1 / std::sqrt(static_cast<double>(size)), q)),
                       c.in(1),
                       v,
                       c.in(3),
                       c.in(4),
                       c.in(5),
                       q.shape(0),
                       q.shape(1),
                       size,
                       v.shape(2)};
  const bool in_blocks = rule.tokens > 4 && rule.gate.ndim() == 2 && q.dtype() == mx::float32;
  return in_blocks ? delta_by_block(rule) : delta_by_token(rule);
}

Arrays wkv7_by_token(const Invocation& c) {
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

// A block of tokens at once. With G the sum of the logarithms of the decays since the block began,
// what token t holds of the state before it, h = state a, is a triangular system
//   h_t = S (e^G_(t-1) a_t) + sum over s < t of e^(G_(t-1) - G_s) ((a_t · b_s) h_s + (a_t · k_s) v_s),
// and answers and the next state are products with h. Decays (above 0) differ from channel to
// channel: the products of pairs are sums over [H, T, T, N].
Arrays wkv7_block(const Arrays& in, const array& state) {
  const array r = head_first(in[0]), k = head_first(in[2]), v = head_first(in[3]), a = head_first(in[4]),
              b = head_first(in[5]);
  const int tokens = r.shape(1);
  const array decay = mx::log(mx::maximum(head_first(in[1]), like(1e-30, r)));
  const array after = mx::cumsum(decay, 1), before = mx::cumsum(decay, 1, false, false);
  const array place = mx::reshape(mx::arange(tokens), {tokens, 1}), source = mx::arange(tokens);
  const array none = like(0, r);
  // Of all pairs: the product of x at t with y at s, decayed from behind s to `until` of t.
  const auto pairs = [&](const array& x, const array& y, const array& until, const array& seen) {
    const array between = mx::subtract(mx::expand_dims(until, 2), mx::expand_dims(after, 1));
    const array kept = mx::exp(mx::where(mx::expand_dims(seen, 2), between, none));
    const array products = mx::multiply(mx::multiply(mx::expand_dims(x, 2), kept), mx::expand_dims(y, 1));
    return mx::where(seen, mx::sum(products, 3, false), none);
  };
  const array earlier = mx::greater(place, source), seen = mx::greater_equal(place, source);
  const array inverse = unit_lower_inverse(mx::negative(pairs(a, b, before, earlier)), tokens);
  const array old = mx::matmul(mx::multiply(a, mx::exp(before)), flipped(state));
  const array held = mx::matmul(inverse, mx::add(old, mx::matmul(pairs(a, k, before, earlier), v)));
  const array own = mx::matmul(mx::multiply(r, mx::exp(after)), flipped(state));
  const array y =
      mx::add(mx::add(own, mx::matmul(pairs(r, b, after, seen), held)), mx::matmul(pairs(r, k, after, seen), v));
  const array all = rows_of(mx::transpose(after, {1, 0, 2}), tokens - 1, tokens);
  const array last = mx::transpose(all, {1, 0, 2}), left = mx::exp(mx::subtract(last, after));
  const array fresh =
      mx::add(mx::matmul(flipped(held), mx::multiply(b, left)), mx::matmul(flipped(v), mx::multiply(k, left)));
  return {head_first(y), mx::add(mx::multiply(state, mx::exp(last)), fresh)};
}

// state ← state · (diag(decay) + a bᵀ) + v kᵀ, y = state r.
Arrays wkv7(const Invocation& c) {
  const int tokens = c.in(0).shape(0);
  // v has the shape of the answers.
  if (tokens == 0) return {c.in(3), c.in(6)};
  if (tokens <= 4 || c.in(0).dtype() != mx::float32) return wkv7_by_token(c);
  array state = c.in(6);
  Arrays results;
  for (int from = 0; from < tokens; from += kStates) {
    Arrays block;
    for (size_t operand = 0; operand < 6; operand++)
      block.push_back(rows_of(c.in(operand), from, std::min(tokens, from + kStates)));
    const Arrays made = wkv7_block(block, state);
    results.push_back(made[0]);
    state = made[1];
  }
  return {mx::concatenate(results, 0), state};
}

const Function kTable[] = {
    {"gated_delta", 6, 6, gated_delta},
    {"wkv7", 7, 7, wkv7},
    {"selective_scan", 6, 6, selective_scan},
};

}  // namespace

std::span<const Function> scan_calls() { return kTable; }

}  // namespace rlx::gpu
