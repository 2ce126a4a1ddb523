// Attention against an f64 softmax over the same (f16- or f32-stored) keys and values.
#include <algorithm>

#include "check.h"

using namespace test;

namespace {

struct Setting {
  size_t heads, kv_heads, head_dim, tokens, past, capacity;
  Type kv;
  float softcap;
  size_t window;
  bool causal;
  size_t chunk = 0;
  bool sinks = false;
};

struct Problem {
  Setting s;
  std::vector<float> q, kf, vf, sinks;
  std::vector<uint16_t> k16, v16;
  std::vector<double> expected;
  AttentionArgs args;
};

Problem make(const Setting& s, uint64_t seed) {
  Problem p;
  p.s = s;
  Random random(seed);
  p.q.resize(s.tokens * s.heads * s.head_dim);
  const size_t cache = s.kv_heads * s.capacity * s.head_dim;
  p.kf.resize(cache);
  p.vf.resize(cache);
  for (float& v : p.q) v = 3.0f * random.uniform();
  for (float& v : p.kf) v = random.uniform();
  for (float& v : p.vf) v = random.uniform();
  // Nothing behind the used keys may be read into the result.
  for (size_t h = 0; h < s.kv_heads; ++h) {
    for (size_t i = (s.past + s.tokens) * s.head_dim; i < s.capacity * s.head_dim; ++i) {
      p.kf[h * s.capacity * s.head_dim + i] = p.vf[h * s.capacity * s.head_dim + i] = NAN;
    }
  }
  p.k16.resize(cache);
  p.v16.resize(cache);
  const Dispatch& scalar = *dispatch_for(Isa::scalar);
  scalar.f32_to_f16(p.kf.data(), p.k16.data(), cache);
  scalar.f32_to_f16(p.vf.data(), p.v16.data(), cache);
  if (s.kv == Type::f16) {
    scalar.f16_to_f32(p.k16.data(), p.kf.data(), cache);
    scalar.f16_to_f32(p.v16.data(), p.vf.data(), cache);
  }
  AttentionArgs a = {};
  a.q = p.q.data();
  a.q_token_stride = a.out_token_stride = s.heads * s.head_dim;
  a.q_head_stride = a.out_head_stride = s.head_dim;
  a.kv_type = s.kv;
  a.k = s.kv == Type::f16 ? static_cast<const void*>(p.k16.data()) : p.kf.data();
  a.v = s.kv == Type::f16 ? static_cast<const void*>(p.v16.data()) : p.vf.data();
  a.kv_head_stride = s.capacity * s.head_dim;
  a.heads = s.heads;
  a.kv_heads = s.kv_heads;
  a.head_dim = s.head_dim;
  a.tokens = s.tokens;
  a.past = s.past;
  a.scale = 1.0f / std::sqrt(static_cast<float>(s.head_dim));
  a.softcap = s.softcap;
  a.window = s.window;
  a.causal = s.causal;
  a.chunk = s.chunk;
  p.sinks.resize(s.heads);
  for (float& v : p.sinks) v = 2.0f * random.uniform();
  if (s.sinks) a.sinks = p.sinks.data();
  p.args = a;

  p.expected.assign(p.q.size(), 0.0);
  const size_t group = s.heads / s.kv_heads;
  for (size_t t = 0; t < s.tokens; ++t) {
    const size_t last = s.causal ? s.past + t + 1 : s.past + s.tokens;
    const size_t in_window = s.window != 0 && last > s.window ? last - s.window : 0;
    const size_t first = std::max(in_window, s.chunk == 0 ? 0 : (s.past + t) / s.chunk * s.chunk);
    for (size_t h = 0; h < s.heads; ++h) {
      const float* q = &p.q[(t * s.heads + h) * s.head_dim];
      const float* k = &p.kf[h / group * s.capacity * s.head_dim];
      const float* v = &p.vf[h / group * s.capacity * s.head_dim];
      std::vector<double> score(last);
      const double sink = s.sinks ? static_cast<double>(p.sinks[h]) : -INFINITY;
      double top = sink, total = 0.0;
      for (size_t j = first; j < last; ++j) {
        double d = 0.0;
        for (size_t i = 0; i < s.head_dim; ++i)
          d += static_cast<double>(q[i]) * static_cast<double>(k[j * s.head_dim + i]);
        d *= static_cast<double>(a.scale);
        if (s.softcap != 0.0f) d = static_cast<double>(s.softcap) * std::tanh(d / static_cast<double>(s.softcap));
        score[j] = d;
        top = std::max(top, d);
      }
      for (size_t j = first; j < last; ++j) total += score[j] = std::exp(score[j] - top);
      total += std::exp(sink - top);
      double* out = &p.expected[(t * s.heads + h) * s.head_dim];
      for (size_t j = first; j < last; ++j) {
        const double share = score[j] / total;
        for (size_t i = 0; i < s.head_dim; ++i) out[i] += share * static_cast<double>(v[j * s.head_dim + i]);
      }
    }
  }
  return p;
}

std::vector<float> run_prompt(const Dispatch& k, const Problem& p, size_t step) {
  std::vector<float> out(p.q.size(), NAN);
  AttentionArgs a = p.args;
  a.out = out.data();
  const Buffer scratch = buffer(attention_scratch_bytes(a.head_dim, a.heads / a.kv_heads));
  for (size_t h = 0; h < a.kv_heads; ++h) {
    for (size_t t = 0; t < a.tokens; t += step)
      k.attention_prompt(a, h, t, std::min(t + step, a.tokens), scratch.get());
  }
  return out;
}

std::vector<float> run_ggml(const Dispatch& k, const Problem& p, size_t step) {
  std::vector<float> out(p.q.size(), NAN);
  AttentionArgs a = p.args;
  a.out = out.data();
  const Buffer scratch = buffer(attention_ggml_scratch_bytes(p.s.capacity, a.head_dim));
  for (size_t h = 0; h < a.kv_heads; ++h) {
    for (size_t t = 0; t < a.tokens; t += step) k.attention_ggml(a, h, t, std::min(t + step, a.tokens), scratch.get());
  }
  return out;
}

std::vector<float> run_decode(const Dispatch& k, const Problem& p, bool split) {
  std::vector<float> out(p.q.size(), NAN);
  AttentionArgs a = p.args;
  a.out = out.data();
  const Buffer scratch = buffer(attention_scratch_bytes(a.head_dim, a.heads / a.kv_heads));
  const size_t keys = a.past + a.tokens, splits = key_splits(keys), item = attention_partial_floats(a);
  for (size_t h = 0; h < a.kv_heads; ++h) {
    if (!split) {
      k.attention_decode(a, h, 0, keys, nullptr, scratch.get());
      continue;
    }
    const Buffer partial = buffer(splits * item * sizeof(float));
    float* parts = reinterpret_cast<float*>(partial.get());
    for (size_t i = splits; i-- > 0;) {
      k.attention_decode(a, h, i * kKeySplit, std::min((i + 1) * kKeySplit, keys), parts + i * item, scratch.get());
    }
    k.attention_combine(a, h, parts, splits);
  }
  return out;
}

const Setting kSettings[] = {
    {4, 2, 64, 1, 0, 8, Type::f16, 0, 0, true},
    {4, 4, 128, 1, 33, 40, Type::f32, 0, 0, true},
    {8, 2, 128, 5, 100, 128, Type::f16, 0, 0, true},
    {6, 2, 80, 70, 0, 70, Type::f16, 0, 0, true},
    {2, 1, 96, 130, 65, 256, Type::f32, 0, 0, true},
    {3, 1, 72, 33, 12, 64, Type::f16, 0, 0, true},
    {2, 2, 8, 20, 5, 32, Type::f32, 0, 0, true},
    {4, 1, 256, 17, 3, 20, Type::f16, 0, 0, true},
    {2, 1, 64, 40, 90, 140, Type::f16, 20, 0, true},
    {2, 1, 64, 90, 70, 160, Type::f32, 0, 50, true},
    {2, 1, 64, 90, 0, 90, Type::f16, 5, 1, true},
    {4, 2, 64, 50, 20, 70, Type::f32, 0, 0, false},
    {8, 1, 40, 66, 1, 80, Type::f16, 0, 0, true},
    {64, 1, 64, 3, 10, 16, Type::f16, 0, 0, true},
    {32, 1, 16, 70, 0, 70, Type::f32, 0, 0, true},
    {4, 2, 64, 17, 3, 20, Type::f32, 2, 0, true},
    {2, 1, 72, 40, 290, 350, Type::f32, 1, 50, true},
    {6, 2, 64, 30, 260, 300, Type::f32, 0, 0, true},
    // Heads that no vector divides.
    {3, 1, 20, 17, 3, 20, Type::f32, 0, 0, true},
    {6, 2, 20, 1, 260, 300, Type::f16, 0, 0, true},
    {4, 2, 36, 70, 30, 110, Type::f16, 0, 0, true},
    {4, 2, 22, 90, 70, 160, Type::f32, 0, 50, true},
    {4, 1, 65, 66, 1, 80, Type::f16, 3, 0, true},
    {2, 1, 65, 3, 290, 350, Type::f32, 0, 0, false},
    {4, 2, 100, 40, 90, 140, Type::f32, 0, 0, true},
    {2, 2, 1, 20, 5, 32, Type::f32, 0, 0, true},
    {2, 1, 3, 4, 70, 80, Type::f16, 0, 5, true},
    {1, 1, 511, 3, 2, 8, Type::f16, 0, 0, true},
    // Sinks, and chunks of positions.
    {4, 2, 64, 70, 5, 80, Type::f32, 0, 0, true, 0, true},
    {6, 2, 20, 5, 300, 310, Type::f16, 3, 40, true, 0, true},
    {4, 2, 64, 90, 30, 128, Type::f32, 0, 0, true, 32, false},
    {3, 1, 36, 1, 99, 100, Type::f16, 0, 0, true, 50, true},
};

}  // namespace

TEST_CASE("attention: prompt and decode kernels against f64") {
  if (borrows(k, &Dispatch::attention_prompt)) return;
  uint64_t seed = 1;
  for (const Setting& s : kSettings) {
    const Problem p = make(s, ++seed);
    const std::vector<float> prompt = run_prompt(k, p, kAttentionTokenStep);
    check_close("prompt", prompt.data(), p.expected.data(), prompt.size(), 2e-6);
    const std::vector<float> decode = run_decode(k, p, false);
    check_close("decode", decode.data(), p.expected.data(), decode.size(), 2e-6);
  }
}

TEST_CASE("attention: as ggml against f64, the same bits for every cut") {
  if (borrows(k, &Dispatch::attention_prompt)) return;
  uint64_t seed = 1;
  for (const Setting& s : kSettings) {
    ++seed;
    if (s.kv != Type::f32) continue;
    const Problem p = make(s, seed);
    const std::vector<float> whole = run_ggml(k, p, s.tokens), single = run_ggml(k, p, 1);
    check_close("as ggml", whole.data(), p.expected.data(), whole.size(), 2e-6);
    check_same("token by token", whole.data(), single.data(), whole.size() * sizeof(float));
  }
}

TEST_CASE("attention: long caches in splits") {
  if (borrows(k, &Dispatch::attention_prompt)) return;
  for (Type kv : {Type::f16, Type::f32}) {
    for (size_t window : {0, 700}) {
      for (size_t head_dim : {64, 36, 65}) {
        const Problem p = make({4, 2, head_dim, 2, 2600, 2610, kv, 0, window, true, 0, head_dim == 36}, 77);
        const std::vector<float> split = run_decode(k, p, true);
        check_close("split", split.data(), p.expected.data(), split.size(), 2e-6);
      }
    }
  }
}

TEST_CASE("attention: a prompt in pieces gives what the whole gives") {
  if (borrows(k, &Dispatch::attention_prompt)) return;
  const Setting whole = {4, 2, 64, 150, 0, 150, Type::f16, 0, 0, true};
  const Problem p = make(whole, 5);
  const std::vector<float> all = run_prompt(k, p, kAttentionTokenStep);
  Problem rest = make(whole, 5);
  const size_t past = 83, row = 4 * 64;
  rest.args.past = past;
  rest.args.tokens = 150 - past;
  rest.args.q = rest.q.data() + past * row;
  rest.q.resize(rest.q.size());
  std::vector<float> out(p.q.size());
  rest.args.out = out.data();
  const Buffer scratch = buffer(attention_scratch_bytes(64, 2));
  for (size_t h = 0; h < 2; ++h) k.attention_prompt(rest.args, h, 0, rest.args.tokens, scratch.get());
  const std::vector<double> expected(all.begin() + static_cast<long>(past * row), all.end());
  check_close("second piece", out.data(), expected.data(), expected.size(), 1e-6);
}

TEST_CASE("attention: large scores stay finite") {
  if (borrows(k, &Dispatch::attention_prompt)) return;
  Problem p = make({2, 1, 64, 80, 0, 80, Type::f32, 0, 0, true}, 9);
  for (float& v : p.q) v *= 1e4f;
  for (float v : run_prompt(k, p, 64)) check("finite", std::isfinite(v));
  for (float v : run_decode(k, p, false)) check("finite", std::isfinite(v));
  for (float v : run_ggml(k, p, 64)) check("finite", std::isfinite(v));
}

TEST_CASE("attention: a score that is not a number is not passed over") {
  if (borrows(k, &Dispatch::attention_prompt)) return;
  for (const size_t bad : {size_t{0}, size_t{70}}) {
    Problem p = make({2, 1, 64, 80, 0, 80, Type::f32, 0, 0, true}, 9);
    p.kf[bad * 64 + 3] = NAN;
    for (const std::vector<float>& out : {run_prompt(k, p, 64), run_ggml(k, p, 64)}) {
      for (size_t i = 0; i < out.size(); ++i)
        check("not a number for those that see it", std::isnan(out[i]) == (i / 128 >= bad));
    }
    for (float v : run_decode(k, make({2, 1, 64, 1, 79, 80, Type::f32, 0, 0, true}, 9), false))
      check("a number", !std::isnan(v));
    Problem one = make({2, 1, 64, 1, 79, 80, Type::f32, 0, 0, true}, 9);
    one.kf[bad * 64 + 3] = NAN;
    for (float v : run_decode(k, one, false)) check("not a number", std::isnan(v));
  }
}

TEST_CASE("attention: what is added to the scores hides keys and moves others") {
  if (borrows(k, &Dispatch::attention_prompt)) return;
  // 70 keys: one whole tile of keys and a rest; the last query sees nothing at all.
  constexpr size_t kQueries = 5, kKeys = 70;
  Problem p = make({2, 1, 32, kKeys, 0, kKeys, Type::f32, 0, 0, false}, 11);
  std::vector<float> bias(2 * kQueries * kKeys);
  Random random(3);
  for (float& v : bias) v = random.below(3) == 0 ? -INFINITY : random.uniform();
  for (size_t head = 0; head < 2; ++head)
    for (size_t key = 0; key < kKeys; ++key) bias[(head * kQueries + kQueries - 1) * kKeys + key] = -INFINITY;
  p.args.bias = bias.data();
  p.args.bias_head_stride = kQueries * kKeys;
  p.args.bias_token_stride = kKeys;
  std::vector<float> out(kQueries * 2 * 32);
  p.args.out = out.data();
  const Buffer scratch = buffer(attention_scratch_bytes(32, 2));
  k.attention_prompt(p.args, 0, 0, kQueries, scratch.get());
  std::vector<double> expected(out.size(), 0.0);
  for (size_t t = 0; t < kQueries; ++t)
    for (size_t head = 0; head < 2; ++head) {
      double total = 0;
      std::vector<double> weights(kKeys);
      for (size_t key = 0; key < kKeys; ++key) {
        double dot = static_cast<double>(bias[(head * kQueries + t) * kKeys + key]);
        for (size_t d = 0; d < 32; ++d)
          dot += static_cast<double>(p.args.scale) * static_cast<double>(p.q[(t * 2 + head) * 32 + d]) *
                 static_cast<double>(p.kf[key * 32 + d]);
        total += weights[key] = std::exp(dot);
      }
      for (size_t key = 0; key < kKeys && total > 0; ++key)
        for (size_t d = 0; d < 32; ++d)
          expected[(t * 2 + head) * 32 + d] += weights[key] / total * static_cast<double>(p.vf[key * 32 + d]);
    }
  check_close("biased", out.data(), expected.data(), out.size(), 1e-6);
}
