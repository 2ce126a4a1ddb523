// Bench support: a team of spinning threads, a clock, medians, random valid blocks, a small JSON
// printer.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kernels.h"

namespace bench {

using namespace rlx::kernels;

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Processor time of the calling thread: unlike the wall clock it does not count what other
// processes take.
inline double thread_seconds() {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0.0 : v[v.size() / 2];
}

inline double best(const std::vector<double>& v) { return v.empty() ? 0.0 : *std::max_element(v.begin(), v.end()); }

// Threads that wait by spinning, so that a step of some microseconds is measured as such.
class Team {
 public:
  explicit Team(int threads) : threads_(threads), spent_(static_cast<size_t>(threads)) {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
  }
  ~Team() {
    stop_ = true;
    round_.fetch_add(1);
    for (auto& w : workers_) w.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  int size() const { return threads_; }
  // Returns the mean processor time of the threads inside the job.
  double run(const std::function<void(int)>& job) {
    job_ = &job;
    left_.store(threads_ - 1);
    round_.fetch_add(1, std::memory_order_release);
    timed(0);
    while (left_.load(std::memory_order_acquire) != 0) {
    }
    double total = 0.0;
    for (double t : spent_) total += t;
    return total / threads_;
  }

 private:
  void work(int index) {
    int seen = 0;
    for (;;) {
      while (round_.load(std::memory_order_acquire) == seen) {
      }
      ++seen;
      if (stop_) return;
      timed(index);
      left_.fetch_sub(1, std::memory_order_release);
    }
  }
  void timed(int index) {
    const double start = thread_seconds();
    (*job_)(index);
    spent_[static_cast<size_t>(index)] = thread_seconds() - start;
  }
  int threads_;
  std::vector<double> spent_;
  std::vector<std::thread> workers_;
  std::atomic<int> round_{0}, left_{0};
  std::atomic<bool> stop_{false};
  const std::function<void(int)>* job_ = nullptr;
};

struct FreeDeleter {
  void operator()(void* p) const { std::free(p); }
};
using Memory = std::unique_ptr<uint8_t[], FreeDeleter>;
inline Memory memory(size_t bytes) {
  // Pages of 2 MB, as the engine's weights have them: from small ones a product reads a sixth less.
  constexpr size_t kPage = size_t{2} << 20;
  const size_t page = bytes < kPage ? 64 : kPage, size = (bytes + 4096 + page - 1) / page * page;
  auto* memory = static_cast<uint8_t*>(std::aligned_alloc(page, size));
#ifdef MADV_HUGEPAGE
  if (page == kPage) madvise(memory, size, MADV_HUGEPAGE);
#endif
  return Memory(memory);
}

inline uint32_t random_u32(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<uint32_t>(state >> 16);
}
inline float random_float(uint64_t& state) {
  return static_cast<float>(static_cast<int32_t>(random_u32(state))) / 2147483648.0f;
}

// Random bytes with the f16 scales set to about 0.01.
inline void fill_blocks(Type type, uint8_t* p, size_t blocks) {
  uint64_t state = 88172645463325252ULL;
  const TypeInfo& info = type_info(type);
  for (size_t b = 0; b < blocks; ++b, p += info.bytes) {
    for (uint32_t i = 0; i < info.bytes; ++i) p[i] = static_cast<uint8_t>(random_u32(state));
    const auto half_at = [&](size_t at) {
      const uint16_t h = static_cast<uint16_t>(0x2000 + (random_u32(state) & 0x3ff));
      memcpy(p + at, &h, 2);
    };
    switch (type) {
      case Type::f32: {
        const float v = random_float(state);
        memcpy(p, &v, 4);
        break;
      }
      case Type::f16: half_at(0); break;
      case Type::bf16: p[1] = 0x3c; break;
      case Type::q2_k: half_at(80), half_at(82); break;
      case Type::q3_k: half_at(108); break;
      case Type::tq1_0: half_at(52); break;
      case Type::tq2_0: half_at(64); break;
      case Type::mxfp4: p[0] = 120; break;
      case Type::q6_k: half_at(208); break;
      case Type::q4_k:
      case Type::q5_k:
      case Type::q4_1:
      case Type::q5_1: half_at(0), half_at(2); break;
      default: half_at(0); break;
    }
  }
}

}  // namespace bench
