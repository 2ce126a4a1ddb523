// One stage of a Fourier transform in f32.
#include "fft_stages.h"

#include "internal.h"

namespace rlx::kernels::RLX_ISA {
namespace {

struct FloatLanes {
  using V = F;
  static constexpr size_t kWidth = W;
  static V load(const float* p) { return fload(p); }
  static void store(float* p, V v) { fstore(p, v); }
  static V set(double x) { return fset(static_cast<float>(x)); }
};

}  // namespace

void fft_stage(size_t radix, const float* re, const float* im, float* to_re, float* to_im, size_t m, size_t s,
               const float* twiddles) {
  kernels::fft_stage<FloatLanes, float>(radix, {re, im}, {to_re, to_im}, m, s, twiddles);
}

}  // namespace rlx::kernels::RLX_ISA
