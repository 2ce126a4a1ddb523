#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "error.h"

namespace rlx {

size_t page_size() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

Pages::Pages(size_t bytes) : bytes_(align_up(bytes == 0 ? 1 : bytes, page_size())) {
  int flags = MAP_PRIVATE | MAP_ANON;
#ifdef MAP_NORESERVE
  flags |= MAP_NORESERVE;
#endif
  void* data = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (data == MAP_FAILED) {
    const size_t wanted = std::exchange(bytes_, 0);
    fail(Code::env_no_memory, "[memory] cannot reserve %zu bytes: the system refused", wanted);
  }
  data_ = static_cast<uint8_t*>(data);
#ifdef MADV_HUGEPAGE
  // Fewer page faults and TLB misses on large buffers; harmless where the system does not offer it.
  if (bytes_ >= (size_t{4} << 20)) madvise(data_, bytes_, MADV_HUGEPAGE);
#endif
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void Pages::reserve(size_t bytes) {
  if (bytes > bytes_) *this = Pages(bytes);
}

void Pages::clear() {
  if (bytes_ != 0) *this = Pages(bytes_);
}

}  // namespace rlx
