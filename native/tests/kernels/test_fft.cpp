// One stage of a Fourier transform against its formula in f64.
#include <complex>

#include "check.h"
#include "fft_stages.h"

using namespace test;

namespace {

using Complex = std::complex<double>;

// In the order that a stage reads (fft_stages.h), from any numbers: a stage does not know its angles.
struct Stage {
  size_t radix, m, s;
  std::vector<float> twiddles;

  Complex twiddle(size_t p, size_t q, size_t k) const {
    if (k == 0) return 1;
    const bool is_short = s < kShortStride;
    const size_t count = m * s, at = is_short ? (k - 1) * count + p * s + q : 2 * (p * (radix - 1) + k - 1);
    return {static_cast<double>(twiddles[at]),
            static_cast<double>(twiddles[at + (is_short ? (radix - 1) * count : 1)])};
  }
};

void run(const Dispatch& k, size_t radix, size_t m, size_t s) {
  Random random(radix * 100 + m * 10 + s);
  Stage stage{radix, m, s, std::vector<float>(2 * (radix - 1) * m * (s < kShortStride ? s : 1))};
  for (float& v : stage.twiddles) v = random.uniform();
  const size_t n = radix * m * s;
  std::vector<float> re(n), im(n), to_re(n), to_im(n);
  for (float& v : re) v = random.uniform();
  for (float& v : im) v = random.uniform();
  std::vector<double> expected_re(n), expected_im(n);
  for (size_t p = 0; p < m; ++p)
    for (size_t q = 0; q < s; ++q)
      for (size_t out = 0; out < radix; ++out) {
        Complex sum = 0;
        for (size_t i = 0; i < radix; ++i) {
          const size_t from = q + s * (p + m * i);
          const double angle = -2 * 3.14159265358979323846 * static_cast<double>(i * out) / static_cast<double>(radix);
          sum += Complex(static_cast<double>(re[from]), static_cast<double>(im[from])) * std::polar(1.0, angle);
        }
        sum *= stage.twiddle(p, q, out);
        expected_re[q + s * (radix * p + out)] = sum.real();
        expected_im[q + s * (radix * p + out)] = sum.imag();
      }
  k.fft_stage(radix, re.data(), im.data(), to_re.data(), to_im.data(), m, s, stage.twiddles.data());
  check_close("re", to_re.data(), expected_re.data(), n, 1e-6);
  check_close("im", to_im.data(), expected_im.data(), n, 1e-6);
}

}  // namespace

TEST_CASE("fft: a stage of every radix, of short and of long strides") {
  if (borrows(k, &Dispatch::fft_stage)) return;
  for (const size_t radix : {2, 3, 4, 5})
    for (const size_t m : {1, 3, 17, 64})
      for (const size_t s : {1, 2, 3, 4, 5, 6, 8, 15, 16, 20}) run(k, radix, m, s);
}
