#include "../../huge_pages.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "../../memory.h"
#include "../platform.h"
#include "../posix/posix.h"

namespace rlx {
namespace {

constexpr size_t kHuge = 2 << 20;
// Each window of a copy becomes a mapping of its own, of which a process may have 65530.
constexpr size_t kCopyWindow = 64 << 20;
// Between two looks at whether to stop.
constexpr size_t kStep = 1 << 20;
// Readers of a window wait while it is read again.
constexpr size_t kRereadWindow = 16 << 20;
// A slower disk makes readers wait: after half a second of that altogether, give up. A single slow
// window does not count, because readers also take the processors from this thread.
constexpr double kRereadRate = 400e6;
constexpr std::chrono::duration<double> kPatience{0.5};
// A reader that maps a page while its window is dropped keeps the page as it is.
constexpr int kTries = 3;
constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, Linux 5.14

int fd_of(const Mapping& mapping) { return static_cast<int>(mapping.file); }

bool says(const char* file, const char* text) {
  FILE* opened = std::fopen(file, "re");
  if (opened == nullptr) return false;
  char content[64] = {};
  const size_t length = std::fread(content, 1, sizeof content - 1, opened);
  std::fclose(opened);
  return length > 0 && std::strstr(content, text) != nullptr;
}

// File systems with large pages on disks of this machine. Elsewhere a dropped page may be far away,
// or exist only in the cache.
bool reads_locally(int fd) {
  struct statfs info{};
  if (fstatfs(fd, &info) != 0) return false;
  constexpr long kExt4 = 0xef53, kXfs = 0x58465342, kBtrfs = 0x9123683e;
  return info.f_type == kExt4 || info.f_type == kXfs || info.f_type == kBtrfs;
}

// Bytes that are mapped in large pages; nothing where the system cannot tell (PAGEMAP_SCAN, Linux
// 6.7).
std::optional<size_t> huge_between(const uint8_t* begin, const uint8_t* end) {
  struct Region {
    uint64_t start, end, categories;
  } regions[64];
  struct Scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask,
        category_anyof_mask, return_mask;
  };
  constexpr uint64_t kIsHuge = 1 << 6;
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  size_t found = 0;
  Scan scan{};
  scan.size = sizeof scan;
  scan.start = reinterpret_cast<uintptr_t>(begin);
  scan.end = align_up(reinterpret_cast<uintptr_t>(end), platform::page_size());
  scan.vec = reinterpret_cast<uintptr_t>(regions);
  scan.vec_len = std::size(regions);
  scan.category_mask = scan.return_mask = kIsHuge;
  int count = 0;
  while (scan.start < scan.end && (count = ioctl(file, _IOWR('f', 16, Scan), &scan)) > 0) {
    for (int i = 0; i < count; i++) found += regions[i].end - regions[i].start;
    scan.start = scan.walk_end;
  }
  close(file);
  return count < 0 ? std::nullopt : std::optional(found);
}

struct Resident {
  size_t bytes = 0;  // that are mapped now
  size_t huge = 0;   // in pages of 2 MB
};

Resident resident_in(const Mapping& mapping) {
  const auto begin = reinterpret_cast<uintptr_t>(mapping.data), end = begin + mapping.size;
  FILE* maps = std::fopen("/proc/self/smaps", "re");
  if (maps == nullptr) return {};
  Resident found;
  bool inside = false;
  for (char line[512]; std::fgets(line, sizeof line, maps) != nullptr;) {
    uintptr_t from = 0, to = 0;
    size_t kilobytes = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
      inside = from < end && to > begin;
    else if (!inside)
      continue;
    else if (std::sscanf(line, "Rss: %zu", &kilobytes) == 1)
      found.bytes += kilobytes << 10;
    else if (std::sscanf(line, "FilePmdMapped: %zu", &kilobytes) == 1)
      found.huge += kilobytes << 10;
  }
  std::fclose(maps);
  return found;
}

}  // namespace

bool HugePages::available() {
  const char* enabled = "/sys/kernel/mm/transparent_hugepage/enabled";
  return (says(enabled, "[madvise]") || says(enabled, "[always]")) &&
         says("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
}

void HugePages::begin(std::vector<Mapping> mappings, Way way) {
  if (!available() || thread_.joinable()) return;
  try {
    thread_ = std::thread([this, way, files = std::move(mappings)] {
      for (const Mapping& mapping : files) way == Way::copy ? copy(mapping) : reread(mapping);
      done_.store(true, std::memory_order_release);
    });
  } catch (const std::system_error&) {
    return;  // no more threads: files stay as they are mapped
  }
}

void HugePages::reread(const Mapping& mapping) {
  if (!reads_locally(fd_of(mapping))) return;
  // Only what is on the disk may be dropped. Writing holds up no reader.
  constexpr unsigned kWrite = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  for (size_t at = 0; at < mapping.size; at += kRereadWindow)
    if (stop_.load(std::memory_order_acquire) ||
        sync_file_range(fd_of(mapping), static_cast<off_t>(at), kRereadWindow, kWrite) != 0)
      return;
  // Pages that are not in memory yet come as large pages now; pages read from the disk for this
  // mapping are large.
  if (!each_window(mapping, [&](size_t at, size_t bytes) { return populate(mapping, at, bytes); })) return;
  const Resident all = resident_in(mapping);
  size_t huge = all.huge;
  bool worked = false;
  int in_vain = 0;
  if (huge < all.bytes / 10 * 9)
    each_window(mapping, [&](size_t at, size_t bytes) {
      const uint8_t *begin = mapping.data + at, *end = begin + bytes;
      std::optional<size_t> found = huge_between(begin, end);
      // Try again only if it has worked before and the system tells about single windows.
      const int tries = found && worked ? kTries : 1;
      for (int i = 0; i < tries && !(found && *found >= bytes / kHuge * kHuge); i++) {
        if (stop_.load(std::memory_order_acquire) || !reread_window(mapping, at, bytes)) return false;
        found = huge_between(begin, end);
      }
      const size_t before = std::exchange(huge, found ? huge : resident_in(mapping).huge);
      const bool gained = found ? *found > 0 || bytes < kHuge : huge > before;
      worked = worked || gained;
      in_vain = gained ? 0 : in_vain + 1;
      return in_vain < 2;
    });
  bytes_.fetch_add(resident_in(mapping).huge, std::memory_order_release);
}

// Calls visit(at, bytes) for every window until one fails, too much time is lost, or stop_ is set.
// True if all were visited.
template <class Visit>
bool HugePages::each_window(const Mapping& mapping, Visit&& visit) const {
  for (size_t at = 0; at < mapping.size; at += kRereadWindow)
    if (stop_.load(std::memory_order_acquire) || late_ > kPatience ||
        !visit(at, std::min(kRereadWindow, mapping.size - at)))
      return false;
  return true;
}

bool HugePages::populate(const Mapping& mapping, size_t at, size_t bytes) {
  const auto began = std::chrono::steady_clock::now();
  const bool done = madvise(mapping.data + at, bytes, kPopulateRead) == 0;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began,
                                      allowed{static_cast<double>(kRereadWindow) / kRereadRate};
  late_ += std::max(taken - allowed, std::chrono::duration<double>(0));
  return done;
}

// Pages leave the cache only while they are unmapped: a page that a reader maps again meanwhile
// stays.
bool HugePages::reread_window(const Mapping& mapping, size_t at, size_t bytes) {
  return madvise(mapping.data + at, bytes, MADV_DONTNEED) == 0 &&
         posix_fadvise(fd_of(mapping), static_cast<off_t>(at), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED) == 0 &&
         populate(mapping, at, bytes);
}

void HugePages::copy(const Mapping& mapping) {
  for (size_t at = 0; at < mapping.size; at += kCopyWindow) {
    const size_t bytes = std::min(kCopyWindow, mapping.size - at);
    if (!copy_window(mapping, at, bytes)) return;  // what is left stays mapped
    bytes_.fetch_add(bytes, std::memory_order_release);
  }
}

bool HugePages::copy_window(const Mapping& mapping, size_t at, size_t bytes) const {
  uint8_t* own = platform::reserve_huge(bytes);
  if (own == nullptr) return false;
  const size_t whole = align_up(bytes, platform::page_size());
  const auto fill = [&] {
    if (mprotect(own, whole, PROT_READ | PROT_WRITE) != 0 || madvise(own, whole, MADV_HUGEPAGE) != 0) return false;
    for (size_t done = 0; done < bytes;) {
      if (stop_.load(std::memory_order_acquire)) return false;
      // A file that was cut meanwhile ends here. Weights::check reports it to the next run.
      const ssize_t read =
          pread(fd_of(mapping), own + done, std::min(kStep, bytes - done), static_cast<off_t>(at + done));
      if (read < 0 && errno == EINTR) continue;
      if (read <= 0) return false;
      done += static_cast<size_t>(read);
    }
    return mprotect(own, whole, PROT_READ) == 0;
  };
  const bool filled = fill();
  // The move is one step for readers: they find the old pages or the new ones.
  if (filled && mremap(own, whole, whole, MREMAP_MAYMOVE | MREMAP_FIXED, mapping.data + at) != MAP_FAILED) return true;
  // A move that fails for want of memory may have removed the old pages already. Without the file
  // in their place another mapping could get these addresses, and readers its content.
  if (filled && mmap(mapping.data + at, whole, PROT_READ, MAP_SHARED | MAP_FIXED, fd_of(mapping),
                     static_cast<off_t>(at)) == MAP_FAILED)
    std::abort();
  munmap(own, whole);
  return false;
}

}  // namespace rlx
