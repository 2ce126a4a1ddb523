// One token of the recurrences against f64: rows of any length, nothing written behind them.
#include "check.h"
#include "scan.h"

using namespace test;

namespace {

std::vector<float> numbers(size_t n, uint64_t seed) {
  Random random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = random.activation();
  return x;
}
std::vector<double> wide(const std::vector<float>& x) { return {x.begin(), x.end()}; }

constexpr float kGuard = 7.0f;

}  // namespace

TEST_CASE("scan: a step of a state that fades, read after and before") {
  for (const bool before : {false, true})
    for (const size_t rows : {1, 5, 16, 31, 64, 129}) {
      const size_t columns = 3;
      std::vector<float> state = numbers(columns * rows, rows), y(columns);
      const std::vector<float> decays = numbers(rows, 2), x = numbers(columns, 3), b = numbers(rows, 4),
                               c = numbers(rows, 5);
      std::vector<double> after = wide(state), sums(columns);
      for (size_t p = 0; p < columns; ++p)
        for (size_t n = 0; n < rows; ++n) {
          double& cell = after[p * rows + n];
          const double old = cell;
          cell = static_cast<double>(decays[n]) * old + static_cast<double>(x[p]) * static_cast<double>(b[n]);
          sums[p] += (before ? old : cell) * static_cast<double>(c[n]);
        }
      state.push_back(kGuard);
      rlx::kernels::scan_table(k.isa).scan(
          {state.data(), decays.data(), x.data(), b.data(), c.data(), y.data(), columns, rows, before});
      check_close("scan state", state.data(), after.data(), after.size(), 1e-6);
      check_close("scan result", y.data(), sums.data(), y.size(), 1e-5);
      check("scan guard", state.back() == kGuard);
    }
}

TEST_CASE("scan: a step of RWKV 7") {
  for (const size_t rows : {1, 6, 16, 36, 64, 100}) {
    std::vector<float> state = numbers(rows * rows, rows), y(rows);
    const std::vector<float> r = numbers(rows, 1), decay = numbers(rows, 2), key = numbers(rows, 3),
                             v = numbers(rows, 4), a = numbers(rows, 5), b = numbers(rows, 6);
    std::vector<double> after = wide(state), sums(rows);
    for (size_t i = 0; i < rows; ++i) {
      double held = 0;
      for (size_t n = 0; n < rows; ++n) held += after[i * rows + n] * static_cast<double>(a[n]);
      for (size_t n = 0; n < rows; ++n) {
        double& cell = after[i * rows + n];
        cell = cell * static_cast<double>(decay[n]) + held * static_cast<double>(b[n]) +
               static_cast<double>(v[i]) * static_cast<double>(key[n]);
        sums[i] += cell * static_cast<double>(r[n]);
      }
    }
    state.push_back(kGuard);
    rlx::kernels::scan_table(k.isa).wkv7(
        {state.data(), r.data(), decay.data(), key.data(), v.data(), a.data(), b.data(), y.data(), rows});
    check_close("wkv7 state", state.data(), after.data(), after.size(), 1e-5);
    check_close("wkv7 result", y.data(), sums.data(), y.size(), 1e-5);
    check("scan guard", state.back() == kGuard);
  }
}

TEST_CASE("scan: a step of the gated delta rule, columns of a wider state") {
  for (const size_t columns : {1, 7, 16, 33, 64, 70})
    for (const size_t rows : {1, 5, 32}) {
      const size_t stride = columns + 3;
      std::vector<float> state = numbers(rows * stride, columns), y(columns + 1, kGuard);
      const std::vector<float> decays = numbers(rows, 2), q = numbers(rows, 3), key = numbers(rows, 4),
                               v = numbers(columns, 5);
      const float beta = 0.75f, scale = 0.5f;
      std::vector<double> after = wide(state), sums(columns);
      for (size_t j = 0; j < columns; ++j) {
        double known = 0;
        for (size_t i = 0; i < rows; ++i) {
          after[i * stride + j] *= static_cast<double>(decays[i]);
          known += after[i * stride + j] * static_cast<double>(key[i]);
        }
        known = (static_cast<double>(v[j]) - known) * static_cast<double>(beta);
        for (size_t i = 0; i < rows; ++i) {
          after[i * stride + j] += static_cast<double>(key[i]) * known;
          sums[j] += after[i * stride + j] * static_cast<double>(q[i]) * static_cast<double>(scale);
        }
      }
      rlx::kernels::scan_table(k.isa).delta(
          {state.data(), decays.data(), q.data(), key.data(), v.data(), y.data(), beta, scale, rows, columns, stride});
      // What lies between the columns and the next row stays as it was.
      check_close("delta state", state.data(), after.data(), after.size(), 1e-5);
      check_close("delta result", y.data(), sums.data(), columns, 1e-5);
      check("delta guard", y.back() == kGuard);
    }
}

TEST_CASE("scan: a fading key of the delta rule meets a later key and query") {
  for (const size_t rows : {1, 6, 16, 36, 128})
    for (const bool fades : {false, true}) {
      std::vector<float> key = numbers(rows, rows);
      const std::vector<float> decays = numbers(rows, 2), later = numbers(rows, 3), q = numbers(rows, 4);
      std::vector<double> faded = wide(key);
      double sums[2] = {};
      for (size_t i = 0; i < rows; ++i) {
        if (fades) faded[i] *= static_cast<double>(decays[i]);
        sums[0] += faded[i] * static_cast<double>(later[i]);
        sums[1] += faded[i] * static_cast<double>(q[i]);
      }
      key.push_back(kGuard);
      float met[2];
      rlx::kernels::scan_table(k.isa).fade_and_meet(
          {key.data(), fades ? decays.data() : nullptr, later.data(), q.data(), rows, &met[0], &met[1]});
      check_close("faded key", key.data(), faded.data(), rows, 1e-6);
      check_close("key and query met", met, sums, 2, 1e-5);
      check("scan guard", key.back() == kGuard);
    }
}
