// Norms, rope, softmax, reductions, sampling picks against f64.
#include <algorithm>

#include "check.h"

using namespace test;

namespace {

std::vector<float> random_row(size_t n, uint64_t seed, float size = 1.0f) {
  Random random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = size * random.activation();
  return x;
}

}  // namespace

TEST_CASE("rows: rms_norm with and without weight, in place, any length") {
  for (size_t n : {1, 3, 16, 64, 100, 128, 1023, 2048}) {
    const std::vector<float> x = random_row(3 * n, n), weight = random_row(n, n + 1);
    std::vector<float> y(3 * n), in_place(x);
    std::vector<double> expected(3 * n), plain(3 * n);
    for (size_t r = 0; r < 3; ++r) {
      double s = 0.0;
      for (size_t i = 0; i < n; ++i) s += static_cast<double>(x[r * n + i]) * static_cast<double>(x[r * n + i]);
      const double scale = 1.0 / std::sqrt(s / static_cast<double>(n) + 1e-6);
      for (size_t i = 0; i < n; ++i) {
        plain[r * n + i] = static_cast<double>(x[r * n + i]) * scale;
        expected[r * n + i] = plain[r * n + i] * static_cast<double>(weight[i]);
      }
    }
    k.rms_norm(x.data(), n, weight.data(), 1e-6f, y.data(), n, 0, 3, n);
    check_each("rms_norm", y.data(), expected.data(), y.size(), 2e-6, 1e-9);
    k.rms_norm(in_place.data(), n, nullptr, 1e-6f, in_place.data(), n, 0, 3, n);
    check_each("rms_norm in place", in_place.data(), plain.data(), y.size(), 2e-6, 1e-9);
  }
}

TEST_CASE("rows: layer_norm with a large mean") {
  for (size_t n : {2, 17, 384, 1000}) {
    std::vector<float> x = random_row(2 * n, n), weight = random_row(n, 3), bias = random_row(n, 4);
    for (float& v : x) v += 100.0f;
    std::vector<float> y(2 * n);
    std::vector<double> expected(2 * n);
    for (size_t r = 0; r < 2; ++r) {
      double mean = 0.0, variance = 0.0;
      for (size_t i = 0; i < n; ++i) mean += static_cast<double>(x[r * n + i]) / static_cast<double>(n);
      for (size_t i = 0; i < n; ++i)
        variance += std::pow(static_cast<double>(x[r * n + i]) - mean, 2) / static_cast<double>(n);
      for (size_t i = 0; i < n; ++i) {
        expected[r * n + i] =
            (static_cast<double>(x[r * n + i]) - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(weight[i]) +
            static_cast<double>(bias[i]);
      }
    }
    k.layer_norm(x.data(), n, weight.data(), bias.data(), 1e-5f, y.data(), n, 0, 2, n);
    check_close("layer_norm", y.data(), expected.data(), y.size(), 3e-5);
  }
}

TEST_CASE("rows: rope, both pairings, partial rotation") {
  for (bool interleaved : {false, true}) {
    for (size_t rotary : {16, 40, 64}) {
      const size_t heads = 3, dim = 64, tokens = 4, half = rotary / 2;
      std::vector<float> x = random_row(tokens * heads * dim, rotary), cos(tokens * half), sin(tokens * half);
      for (size_t i = 0; i < cos.size(); ++i) {
        cos[i] = std::cos(0.1f * static_cast<float>(i));
        sin[i] = std::sin(0.1f * static_cast<float>(i));
      }
      std::vector<double> expected(x.begin(), x.end());
      for (size_t t = 1; t < tokens; ++t) {
        for (size_t h = 0; h < heads; ++h) {
          for (size_t i = 0; i < half; ++i) {
            const size_t base = (t * heads + h) * dim;
            const size_t a = base + (interleaved ? 2 * i : i), b = base + (interleaved ? 2 * i + 1 : i + half);
            const double u = static_cast<double>(x[a]), v = static_cast<double>(x[b]);
            const double c = static_cast<double>(cos[t * half + i]), s = static_cast<double>(sin[t * half + i]);
            expected[a] = u * c - v * s;
            expected[b] = u * s + v * c;
          }
        }
      }
      k.rope({x.data(), heads * dim, dim, heads, dim, rotary, cos.data(), sin.data(), 1, tokens, interleaved});
      check_each("rope", x.data(), expected.data(), x.size(), 1e-6, 1e-6);
    }
  }
}

TEST_CASE("rows: softmax and log_sum_exp") {
  for (size_t n : {1, 5, 64, 1001, 40000}) {
    const std::vector<float> x = random_row(n, n, 4.0f);
    std::vector<float> y(n);
    std::vector<double> expected(n);
    double top = -INFINITY, total = 0.0;
    for (float v : x) top = std::max(top, 0.7 * static_cast<double>(v));
    for (size_t i = 0; i < n; ++i)
      total += expected[i] = std::exp(static_cast<double>(0.7f) * static_cast<double>(x[i]) - top);
    for (double& v : expected) v /= total;
    k.softmax(x.data(), n, 0.7f, y.data(), n, 0, 1, n);
    check_close("softmax", y.data(), expected.data(), n, 3e-6);
    double full = -INFINITY, sum = 0.0;
    for (float v : x) full = std::max(full, static_cast<double>(v));
    for (float v : x) sum += std::exp(static_cast<double>(v) - full);
    check("log_sum_exp", std::fabs(static_cast<double>(k.log_sum_exp(x.data(), n)) - (full + std::log(sum))) <
                             2e-6 * std::fabs(full) + 1e-6);
  }
  const std::vector<float> nothing(40, -INFINITY);
  check("log_sum_exp of nothing", k.log_sum_exp(nothing.data(), nothing.size()) == -INFINITY);
  const float mixed[4] = {-INFINITY, 1.0f, -INFINITY, 1.0f};
  float y[4];
  k.softmax(mixed, 4, 1.0f, y, 4, 0, 1, 4);
  const double expected[4] = {0.0, 0.5, 0.0, 0.5};
  check_each("masked softmax", y, expected, 4, 1e-6, 0.0);
}

TEST_CASE("rows: reductions") {
  for (size_t n : {1, 7, 33, 1000}) {
    std::vector<float> x = random_row(2 * n, n);
    float y[2];
    double sum[2] = {}, squares[2] = {}, high[2] = {-INFINITY, -INFINITY}, low[2] = {INFINITY, INFINITY};
    for (size_t i = 0; i < 2 * n; ++i) {
      const double v = static_cast<double>(x[i]);
      sum[i / n] += v;
      squares[i / n] += v * v;
      high[i / n] = std::max(high[i / n], v);
      low[i / n] = std::min(low[i / n], v);
    }
    k.reduce(Reduce::sum, x.data(), n, y, 0, 2, n);
    check_each("sum", y, sum, 2, 1e-5, 1e-4);
    k.reduce(Reduce::sum_squares, x.data(), n, y, 0, 2, n);
    check_each("sum_squares", y, squares, 2, 1e-5, 1e-4);
    k.reduce(Reduce::max, x.data(), n, y, 0, 2, n);
    check_each("max", y, high, 2, 0.0, 0.0);
    k.reduce(Reduce::min, x.data(), n, y, 0, 2, n);
    check_each("min", y, low, 2, 0.0, 0.0);
    x[n / 2] = NAN;
    k.reduce(Reduce::max, x.data(), n, y, 0, 1, n);
    check("max of NaN", std::isnan(y[0]));
  }
}

TEST_CASE("sampling: argmax and top_k with ties, NaN, and more asked than there is") {
  for (size_t n : {1, 40, 1000, 151936}) {
    std::vector<float> x = random_row(n, n + 9);
    Random random(n);
    for (size_t i = 0; i < n / 10; ++i) x[random.below(n)] = x[random.below(n)];  // ties
    for (size_t i = 0; i < n / 50; ++i) x[random.below(n)] = NAN;
    std::vector<uint32_t> order;
    for (size_t i = 0; i < n; ++i) {
      if (!std::isnan(x[i])) order.push_back(static_cast<uint32_t>(i));
    }
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return x[a] > x[b]; });
    check("argmax", k.argmax(x.data(), n) == order[0]);
    for (size_t count : {size_t{1}, size_t{40}, n + 5}) {
      std::vector<TopEntry> top(count);
      const size_t got = k.top_k(x.data(), n, top.data(), count);
      check("top_k count", got == std::min(count, order.size()));
      bool same = true;
      for (size_t i = 0; i < got; ++i) same = same && top[i].index == order[i] && top[i].value == x[order[i]];
      check("top_k order", same);
    }
  }
  const float all_nan[3] = {NAN, NAN, NAN};
  check("argmax of NaN", k.argmax(all_nan, 3) == 0);
  const float low[3] = {-INFINITY, -INFINITY, -INFINITY};
  check("argmax of -inf", k.argmax(low, 3) == 0);
}

TEST_CASE("dispatch: names, notes, and what is not here") {
  const KernelNote* notes = nullptr;
  check("every table says how it works", kernel_notes(k.isa, &notes) > 0 && notes[0].kernel != nullptr);
  Isa isa = Isa::scalar;
  check("its name parses", parse_isa(k.name, &isa) && isa == k.isa && dispatch(k.name) == &k);
  check("an unknown name", !parse_isa("avx9", &isa) && dispatch("avx9") == nullptr);
  const bool arm = dispatch_for(Isa::neon) != nullptr;
  check("the other family is not here", dispatch(arm ? "avx2" : "neon") == nullptr);
  // Each is asked for by itself, from the worst to the best.
  const Dispatch* best = nullptr;
  for (const char* name : {"scalar", "avx2", "avx512", "amx", "neon", "neon-dot", "neon-i8mm"})
    if (const Dispatch* table = dispatch(name)) best = table;
  check("the best is the last that runs here", dispatch(nullptr) == best && dispatch_for(best_isa()) == best);
}
