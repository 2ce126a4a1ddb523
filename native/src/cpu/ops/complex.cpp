// Complex numbers lie as pairs in c64, and as a block of real parts before a block of imaginary
// parts for the ops that compute with them.
#include <algorithm>

#include "tables.h"

namespace rlx {
namespace {

// The last axis of floats holds twice as many numbers as that of pairs.
template <bool kToPairs>
class Layout final : public Op {
 public:
  explicit Layout(const OpContext& context) : Op(context) {
    arity(1, 1, 1);
    expect_type(c.in[0], kToPairs ? DType::f32 : DType::c64, "operand");
    expect_type(c.out[0], kToPairs ? DType::c64 : DType::f32, "result");
  }
  void bind() override {
    expect(in(0).bytes == out().bytes, "the result has another size");
    expect(block().last() == 2 * pairs().last(), "the last axis does not hold both parts");
  }
  size_t items(size_t) const override { return ceil_div(pairs().count, kGrain); }
  void run(size_t, size_t item, Thread&) override {
    const float* from = in(0).f32();
    auto* to = out().f32();
    const size_t count = pairs().last();
    const size_t end = std::min(pairs().count, (item + 1) * kGrain);
    for (size_t i = item * kGrain; i < end; i++) {
      const size_t re = i / count * 2 * count + i % count;
      to[kToPairs ? 2 * i : re] = from[kToPairs ? re : 2 * i];
      to[kToPairs ? 2 * i + 1 : re + count] = from[kToPairs ? re + count : 2 * i + 1];
    }
  }

 private:
  const Tensor& pairs() const { return kToPairs ? out() : in(0); }
  const Tensor& block() const { return kToPairs ? in(0) : out(); }
};

constexpr KernelEntry kTable[] = {{"to_complex", make_op<Layout<true>>}, {"from_complex", make_op<Layout<false>>}};

}  // namespace

std::span<const KernelEntry> complex_kernels() { return kTable; }

}  // namespace rlx
