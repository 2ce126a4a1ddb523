// The plain read loop that memory-bound kernels are measured against.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

typedef uint64_t Wide __attribute__((vector_size(32), aligned(1)));

#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
inline uint64_t
read_loop(const uint8_t* p, size_t bytes) {
  Wide a = {}, b = {}, c = {}, d = {};
  const auto* w = reinterpret_cast<const Wide*>(p);
  for (size_t i = 0; i + 16 <= bytes / sizeof(Wide); i += 16) {
    a += w[i] + w[i + 1] + w[i + 2] + w[i + 3];
    b += w[i + 4] + w[i + 5] + w[i + 6] + w[i + 7];
    c += w[i + 8] + w[i + 9] + w[i + 10] + w[i + 11];
    d += w[i + 12] + w[i + 13] + w[i + 14] + w[i + 15];
  }
  const Wide all = a + b + c + d;
  volatile uint64_t sink = all[0] + all[1] + all[2] + all[3];
  return sink;
}

}  // namespace bench
