// Random words by Philox4x32-10, as core/sampling.cpp has them, for all blocks at once.
#include "family.h"

namespace rlx::gpu {
namespace {

struct Product {
  array high, low;
};

// Of words of 32 bits.
Product multiplied(const array& word, int64_t by) {
  const array wide = mx::multiply(mx::astype(word, mx::uint64), whole(by, mx::uint64));
  return {mx::astype(mx::right_shift(wide, whole(32, mx::uint64)), mx::uint32), mx::astype(wide, mx::uint32)};
}

// (seed i32[4]: key, upper half of the counter) -> u32, four words for each block.
Arrays philox(const Invocation& c) {
  const mx::Shape shape = c.shape();
  int count = 1;
  for (const int size : shape) count *= size;
  const int blocks = (count + 3) / 4;
  const array seed = mx::view(c.in(0), mx::uint32);
  const auto word = [&](int at) { return mx::slice(seed, {at}, {at + 1}); };
  array c0 = mx::arange(0, blocks, 1, mx::uint32), c1 = mx::zeros({blocks}, mx::uint32);
  array c2 = mx::broadcast_to(word(2), {blocks}), c3 = mx::broadcast_to(word(3), {blocks});
  array k0 = word(0), k1 = word(1);
  for (int round = 0; round < 10; round++) {
    const Product a = multiplied(c0, 0xD2511F53), b = multiplied(c2, 0xCD9E8D57);
    c0 = mx::bitwise_xor(mx::bitwise_xor(b.high, c1), k0);
    c2 = mx::bitwise_xor(mx::bitwise_xor(a.high, c3), k1);
    c1 = b.low;
    c3 = a.low;
    k0 = mx::add(k0, whole(0x9E3779B9, mx::uint32));
    k1 = mx::add(k1, whole(0xBB67AE85, mx::uint32));
  }
  const array words = mx::reshape(mx::stack({c0, c1, c2, c3}, 1), {-1});
  return {mx::reshape(mx::slice(words, {0}, {count}), shape)};
}

constexpr Function kTable[] = {{"philox", 1, 1, philox}};

}  // namespace

std::span<const Function> random_calls() { return kTable; }

}  // namespace rlx::gpu
