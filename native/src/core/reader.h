// Little-endian fields of a plan: never reads past the end, and refuses a false count before memory
// is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "error.h"

namespace rlx {

class Reader {
 public:
  Reader(const uint8_t* bytes, size_t size) : at_(bytes), left_(size) {}

  uint32_t u32() { return number<uint32_t>(); }
  uint64_t u64() { return number<uint64_t>(); }
  double f64() { return number<double>(); }
  // A count whose items take at least `item` bytes each.
  size_t count(size_t item, size_t limit) {
    const size_t value = u32();
    if (value > limit || value > left_ / item) bad("a count is larger than what follows");
    return value;
  }
  uint32_t index(size_t size, const char* what) {
    const uint32_t value = u32();
    if (value >= size)
      fail(Code::ir_structure, "[plan] %s out of range: got %u, expected less than %zu", what, value, size);
    return value;
  }
  std::string text() {
    const size_t length = count(1, 65535);
    std::string value(reinterpret_cast<const char*>(at_), length);
    skip((length + 3) / 4 * 4);
    return value;
  }
  const uint8_t* blob(size_t size) {
    const uint8_t* data = at_;
    skip(size);
    return data;
  }
  bool done() const { return left_ == 0; }
  [[noreturn]] static void bad(const char* why) { fail(Code::ir_structure, "[plan] malformed: %s", why); }

 private:
  template <class T>
  T number() {
    T value;
    if (left_ < sizeof value) bad("it ends too early");
    std::memcpy(&value, at_, sizeof value);
    skip(sizeof value);
    return value;
  }
  void skip(size_t bytes) {
    if (bytes > left_) bad("it ends too early");
    at_ += bytes;
    left_ -= bytes;
  }

  const uint8_t* at_;
  size_t left_;
};

}  // namespace rlx
