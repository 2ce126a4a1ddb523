// A small test harness: named cases, checks that count, a filter, and an exit code. No dependency.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "kernels.h"

namespace test {

using namespace rlx::kernels;

struct Case {
  const char* name;
  void (*run)(const Dispatch&);
};
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}
struct Register {
  Register(const char* name, void (*run)(const Dispatch&)) { cases().push_back({name, run}); }
};

inline int failures = 0;
inline int checks = 0;
inline const char* current = "";

template <class... Args>
void fail(const char* format, Args... args) {
  if (++failures <= 40) {
    std::printf("  FAILED %s: ", current);
    std::printf(format, args...);
    std::printf("\n");
  }
}

// Sizes of the numbers below: random, repeatable.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}
  uint32_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<uint32_t>(state_ >> 16);
  }
  size_t below(size_t n) { return bits() % n; }
  float uniform() { return static_cast<float>(bits()) / 2147483648.0f - 1.0f; }
  // Roughly normal, with the odd large value that real activations have.
  float activation() {
    float s = 0.0f;
    for (int i = 0; i < 6; ++i) s += uniform();
    return below(200) == 0 ? 20.0f * s : s;
  }

 private:
  uint64_t state_;
};

struct Free {
  void operator()(uint8_t* bytes) const { ::operator delete[](bytes, std::align_val_t{64}); }
};
// Exactly `bytes` long, so that a sanitizer sees any read behind the end; 64-byte aligned.
using Buffer = std::unique_ptr<uint8_t[], Free>;
inline Buffer buffer(size_t bytes) {
  auto* memory = static_cast<uint8_t*>(::operator new[](bytes, std::align_val_t{64}));
  std::memset(memory, 0xab, bytes);
  return Buffer(memory);
}

// sqrt(sum (a-b)^2 / sum b^2)
inline double relative_rms(const float* a, const double* b, size_t n) {
  double error = 0.0, size = 0.0;
  for (size_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(a[i]) - b[i];
    error += d * d;
    size += b[i] * b[i];
  }
  return size == 0.0 ? std::sqrt(error) : std::sqrt(error / size);
}

inline void check_close(const char* what, const float* a, const double* b, size_t n, double limit) {
  ++checks;
  const double e = relative_rms(a, b, n);
  if (!(e <= limit)) fail("%s: relative rms %.3g, at most %.3g", what, e, limit);
}

inline void check_each(const char* what, const float* a, const double* b, size_t n, double relative, double absolute) {
  ++checks;
  for (size_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(a[i]);
    if (std::isnan(b[i]) && std::isnan(x)) continue;
    if (x == b[i]) continue;
    if (!(std::fabs(x - b[i]) <= absolute + relative * std::fabs(b[i]))) {
      fail("%s[%zu]: got %.9g, expected %.9g", what, i, x, b[i]);
      return;
    }
  }
}

inline void check_same(const char* what, const void* a, const void* b, size_t bytes) {
  ++checks;
  if (std::memcmp(a, b, bytes) != 0) fail("%s: bytes differ", what);
}

inline void check(const char* what, bool ok) {
  ++checks;
  if (!ok) fail("%s", what);
}

// A set that takes this function from an earlier one has nothing of its own to show.
template <class Function>
bool borrows(const Dispatch& k, Function Dispatch::* function) {
  Isa found[kIsaCount];
  const size_t count = available_isas(found);
  for (size_t i = 0; i < count; ++i)
    if (found[i] < k.isa && dispatch_for(found[i])->*function == k.*function) return true;
  return false;
}

}  // namespace test

#define TEST_JOIN2(a, b) a##b
#define TEST_JOIN(a, b) TEST_JOIN2(a, b)
#define TEST_CASE(name)                                                                                   \
  static void TEST_JOIN(test_case_, __LINE__)(const Dispatch& k);                                         \
  static const test::Register TEST_JOIN(test_register_, __LINE__)(name, TEST_JOIN(test_case_, __LINE__)); \
  static void TEST_JOIN(test_case_, __LINE__)([[maybe_unused]] const Dispatch& k)
