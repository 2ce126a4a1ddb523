// Memory of the engine: zeroed address space that becomes real only where it is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace rlx {

// Anonymous pages, zeroed, 64-byte aligned at least. They take memory only where they are touched
// (platform::map_zeroed).
class Pages {
 public:
  Pages() = default;
  explicit Pages(size_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // Makes room for at least `bytes`; the content is lost when it has to grow.
  void reserve(size_t bytes);
  // Zero again, and given back to the system.
  void clear();

 private:
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

constexpr size_t align_up(size_t value, size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

}  // namespace rlx
