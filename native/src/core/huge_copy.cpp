#include "huge_copy.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "memory.h"

namespace rlx {
namespace {

constexpr size_t kHuge = 2 << 20;

}  // namespace

uint8_t* reserve_huge(size_t bytes) {
  int flags = MAP_PRIVATE | MAP_ANON;
#ifdef MAP_NORESERVE
  flags |= MAP_NORESERVE;
#endif
  const size_t whole = align_up(bytes, page_size());
  void* data = mmap(nullptr, whole + kHuge, PROT_NONE, flags, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  auto* begin = static_cast<uint8_t*>(data);
  const size_t before = (kHuge - reinterpret_cast<uintptr_t>(begin) % kHuge) % kHuge;
  if (before > 0) munmap(begin, before);
  if (before < kHuge) munmap(begin + before + whole, kHuge - before);
  return begin + before;
}

HugeCopy::~HugeCopy() {
  stop_.store(true, std::memory_order_release);
  if (thread_.joinable()) thread_.join();
}

#if defined(MADV_HUGEPAGE) && defined(MREMAP_FIXED)

namespace {
// Each window becomes a mapping of its own, of which a process may have 65530.
constexpr size_t kWindow = 64 << 20;
// Between two looks at whether to stop.
constexpr size_t kStep = 1 << 20;

bool says(const char* file, const char* text) {
  FILE* opened = std::fopen(file, "re");
  if (opened == nullptr) return false;
  char content[64] = {};
  const size_t length = std::fread(content, 1, sizeof content - 1, opened);
  std::fclose(opened);
  return length > 0 && std::strstr(content, text) != nullptr;
}

}  // namespace

bool HugeCopy::available() {
  const char* enabled = "/sys/kernel/mm/transparent_hugepage/enabled";
  return (says(enabled, "[madvise]") || says(enabled, "[always]")) && says("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
}

void HugeCopy::begin(std::vector<Mapping> mappings) {
  if (!available() || thread_.joinable()) return;
  try {
    thread_ = std::thread([this, of = std::move(mappings)] { copy(of); });
  } catch (const std::system_error&) {  // no more threads: files stay where they are mapped
  }
}

void HugeCopy::copy(const std::vector<Mapping>& mappings) {
  for (const Mapping& mapping : mappings) {
    for (size_t at = 0; at < mapping.size; at += kWindow) {
      const size_t bytes = std::min(kWindow, mapping.size - at);
      if (!copy_window(mapping, at, bytes)) return;  // what is left stays mapped
      copied_.fetch_add(bytes, std::memory_order_release);
    }
  }
}

bool HugeCopy::copy_window(const Mapping& mapping, size_t at, size_t bytes) {
  uint8_t* own = reserve_huge(bytes);
  if (own == nullptr) return false;
  const size_t whole = align_up(bytes, page_size());
  const auto fill = [&] {
    if (mprotect(own, whole, PROT_READ | PROT_WRITE) != 0 || madvise(own, whole, MADV_HUGEPAGE) != 0) return false;
    for (size_t done = 0; done < bytes;) {
      if (stop_.load(std::memory_order_acquire)) return false;
      // A file that was cut meanwhile ends here; whoever reads it hears of it by Weights::check.
      const ssize_t read = pread(mapping.fd, own + done, std::min(kStep, bytes - done), static_cast<off_t>(at + done));
      if (read < 0 && errno == EINTR) continue;
      if (read <= 0) return false;
      done += static_cast<size_t>(read);
    }
    return mprotect(own, whole, PROT_READ) == 0;
  };
  const bool filled = fill();
  // The move is one step for readers: they find the old pages or the new ones.
  if (filled && mremap(own, whole, whole, MREMAP_MAYMOVE | MREMAP_FIXED, mapping.data + at) != MAP_FAILED) return true;
  // A move that fails for want of memory may have taken the old pages away already.
  if (filled) mmap(mapping.data + at, whole, PROT_READ, MAP_SHARED | MAP_FIXED, mapping.fd, static_cast<off_t>(at));
  munmap(own, whole);
  return false;
}

#else

bool HugeCopy::available() { return false; }
void HugeCopy::begin(std::vector<Mapping>) {}

#endif

}  // namespace rlx
