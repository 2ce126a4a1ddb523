#include "bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "../core/error.h"
#include "../core/memory.h"

namespace rlx {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Eight independent sums of 64-bit words: the compiler keeps them in vector registers, memory is
// the limit.
uint64_t read_all(const uint64_t* words, size_t count) {
  uint64_t sums[32] = {};
  for (size_t i = 0; i + 32 <= count; i += 32)
    for (size_t j = 0; j < 32; j++) sums[j] += words[i + j];
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace

double read_bandwidth(Pool& pool, size_t threads, size_t bytes, double seconds, const std::atomic<bool>& cancel) {
  if (bytes < (size_t{1} << 20) || bytes > (size_t{1} << 34))
    fail(Code::input_argument, "[bandwidth] size: got %zu bytes, expected 1 MiB to 16 GiB", bytes);
  struct Pass {
    Pages memory;
    size_t part;
    std::vector<uint64_t> sums;
    bool fill;
    const std::atomic<bool>& cancel;
  } pass{Pages(bytes), bytes / threads / 256 * 256, std::vector<uint64_t>(threads * 8), true, cancel};
  const auto work = [](void* argument, size_t thread) {
    Pass& pass = *static_cast<Pass*>(argument);
    uint8_t* begin = pass.memory.data() + thread * pass.part;
    if (pass.fill) {
      // The first touch of this much memory takes up to half a second, so check for a cancel
      // meanwhile.
      constexpr size_t kStep = size_t{1} << 20;
      for (size_t at = 0; at < pass.part && !pass.cancel.load(std::memory_order_relaxed); at += kStep)
        std::memset(begin + at, static_cast<int>(thread + 1), std::min(kStep, pass.part - at));
      return;
    }
    pass.sums[thread * 8] += read_all(reinterpret_cast<const uint64_t*>(begin), pass.part / 8);
  };
  pool.run(threads, work, &pass);
  pass.fill = false;
  double best = 0;
  for (const double end = now() + seconds; now() < end || best == 0;) {
    if (cancel.load()) fail(Code::cancelled, "Cancelled.");
    const double start = now();
    pool.run(threads, work, &pass);
    const double rate = static_cast<double>(pass.part * threads) / (now() - start);
    if (rate > best) best = rate;
  }
  return best;
}

}  // namespace rlx
