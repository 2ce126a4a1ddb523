// Random words. A block of four depends on the seed and its own number alone, so any thread makes
// any of them.
#include <algorithm>
#include <cstring>

#include "../../core/sampling.h"
#include "tables.h"

namespace rlx {
namespace {

// (seed i32[4]: key, upper half of the counter) -> u32
class Philox final : public Op {
 public:
  explicit Philox(const OpContext& context) : Op(context) {
    arity(1, 1, 1);
    expect_type(c.in[0], DType::i32, "seed");
    expect_type(c.out[0], DType::u32, "result");
  }
  void bind() override { expect(in(0).count == 4, "the seed has four words"); }
  size_t items(size_t) const override { return ceil_div(out().count, kGrain); }
  void run(size_t, size_t item, Thread&) override {
    const auto* seed = in(0).as<uint32_t>();
    auto* words = out().as<uint32_t>();
    const size_t end = std::min(out().count, (item + 1) * kGrain);
    for (size_t at = item * kGrain; at < end; at += kWords) {
      const auto block = static_cast<uint64_t>(at / kWords);
      const uint32_t counter[kWords] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), seed[2],
                                        seed[3]};
      uint32_t made[kWords];
      philox4x32(counter, seed, made);
      std::memcpy(words + at, made, std::min(kWords, end - at) * sizeof(uint32_t));
    }
  }

 private:
  static constexpr size_t kWords = 4;
  static_assert(kGrain % kWords == 0);
};

constexpr KernelEntry kTable[] = {{"philox", make_op<Philox>}};

}  // namespace

std::span<const KernelEntry> random_kernels() { return kTable; }

}  // namespace rlx
