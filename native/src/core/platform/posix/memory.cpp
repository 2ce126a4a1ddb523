#include <sys/mman.h>
#include <unistd.h>

#include "../../memory.h"
#include "../platform.h"
#include "posix.h"

namespace rlx::platform {
namespace {

constexpr size_t kHuge = 2 << 20;
constexpr int kAddressesOnly = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE;

}  // namespace

size_t page_size() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

uint8_t* map_zeroed(size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kAddressesOnly, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  if (bytes >= 2 * kHuge) advise_huge(data, bytes);
  return static_cast<uint8_t*>(data);
}

void unmap(uint8_t* data, size_t bytes) { munmap(data, bytes); }

uint8_t* reserve_huge(size_t bytes) {
  const size_t whole = align_up(bytes, page_size());
  void* data = mmap(nullptr, whole + kHuge, PROT_NONE, kAddressesOnly, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  auto* begin = static_cast<uint8_t*>(data);
  const size_t before = (kHuge - reinterpret_cast<uintptr_t>(begin) % kHuge) % kHuge;
  if (before > 0) munmap(begin, before);
  if (before < kHuge) munmap(begin + before + whole, kHuge - before);
  return begin + before;
}

}  // namespace rlx::platform
