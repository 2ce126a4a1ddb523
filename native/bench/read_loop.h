// The plain read loop that memory-bound kernels are measured against.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

typedef uint64_t Wide __attribute__((vector_size(64), aligned(1)));

inline uint64_t read_loop(const uint8_t* p, size_t bytes) {
  Wide sum[4] = {};
  for (size_t i = 0; i + 256 <= bytes; i += 256) {
    for (size_t j = 0; j < 4; ++j) sum[j] += *reinterpret_cast<const Wide*>(p + i + 64 * j);
  }
  const Wide all = sum[0] + sum[1] + sum[2] + sum[3];
  uint64_t total = 0;
  for (int i = 0; i < 8; ++i) total += all[i];
  volatile uint64_t sink = total;
  return sink;
}

}  // namespace bench
