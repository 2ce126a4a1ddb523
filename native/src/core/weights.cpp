#include "weights.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "error.h"
#include "memory.h"

namespace rlx {
namespace {

// Smaller models stay in the caches.
constexpr size_t kWorthwhile = 32 << 20;

// What the signal handler may look at: fixed memory, atomics only. A signal handler belongs to the process, so
// this table does too; everything else in the engine belongs to an environment.
struct Guarded {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> lost{false};
  std::atomic<bool> taken{false};
};
constexpr int kGuarded = 1024;
Guarded guarded[kGuarded];
struct sigaction previous_bus;

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Guarded& entry : guarded) {
    const uintptr_t begin = entry.begin.load(std::memory_order_acquire);
    const uintptr_t end = entry.end.load(std::memory_order_acquire);
    if (address < begin || address >= end) continue;
    // The rest of the file reads as zero from here on; the run ends with an error because of `lost`.
    const uintptr_t page = address & ~(static_cast<uintptr_t>(page_size()) - 1);
    void* mapped =
        mmap(reinterpret_cast<void*>(page), end - page, PROT_READ, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0);
    entry.lost.store(true, std::memory_order_release);
    if (mapped != MAP_FAILED) {
      errno = saved;
      return;
    }
  }
  // Not ours: the handler that was there before, or the default (which ends the process, as it should).
  if ((previous_bus.sa_flags & SA_SIGINFO) != 0 && previous_bus.sa_sigaction != nullptr) {
    previous_bus.sa_sigaction(signal, info, context);
    return;
  }
  if (previous_bus.sa_handler != SIG_DFL && previous_bus.sa_handler != SIG_IGN) {
    previous_bus.sa_handler(signal);
    return;
  }
  sigaction(SIGBUS, &previous_bus, nullptr);
}

void install_guard() {
  static std::once_flag once;
  std::call_once(once, [] {
    page_size();
    struct sigaction action{};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous_bus);
  });
}

int guard(const uint8_t* data, size_t size) {
  install_guard();
  for (int i = 0; i < kGuarded; i++) {
    bool expected = false;
    if (!guarded[i].taken.compare_exchange_strong(expected, true)) continue;
    guarded[i].lost.store(false);
    guarded[i].begin.store(reinterpret_cast<uintptr_t>(data));
    guarded[i].end.store(reinterpret_cast<uintptr_t>(data) + size);
    return i;
  }
  fail(Code::env_no_memory, "[weights] too many mapped files: got more than %d", kGuarded);
}

int64_t modified_of(const struct stat& info) {
#ifdef __APPLE__
  return int64_t{info.st_mtimespec.tv_sec} * 1000000000 + info.st_mtimespec.tv_nsec;
#else
  return int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec;
#endif
}

// Device, inode, size and time of the last write, as main/node/files/fileByteSource.ts writes them.
std::string identity_of(const struct stat& info) {
  char text[160];
  std::snprintf(text, sizeof text, "%llu:%llu:%lld:%lld", static_cast<unsigned long long>(info.st_dev),
                static_cast<unsigned long long>(info.st_ino), static_cast<long long>(info.st_size),
                static_cast<long long>(modified_of(info)));
  return text;
}

}  // namespace

MappedFile::MappedFile(const std::string& path, const std::string& identity) : path_(path) {
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0)
    fail(errno == ENOENT ? Code::input_not_found : Code::input_unreadable, "[weights] cannot open %s: %s", path.c_str(),
         std::strerror(errno));
  struct stat info{};
  if (fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size <= 0) {
    close(fd_);
    fail(Code::input_unreadable, "[weights] %s is not a file with content", path.c_str());
  }
  if (!identity.empty() && identity != identity_of(info)) {
    close(fd_);
    fail(Code::input_changed, "[weights] %s is not the file that was opened: it was replaced or written to since",
         path.c_str());
  }
  size_ = static_cast<size_t>(info.st_size);
  modified_ = modified_of(info);
  uint8_t* place = reserve_huge(size_);
  void* data = place == nullptr ? MAP_FAILED : mmap(place, size_, PROT_READ, MAP_SHARED | MAP_FIXED, fd_, 0);
  if (data == MAP_FAILED) {
    const char* why = std::strerror(errno);
    if (place != nullptr) munmap(place, size_);
    close(fd_);
    fail(Code::env_no_memory, "[weights] cannot map %s (%zu bytes): %s", path.c_str(), size_, why);
  }
  data_ = place;
#ifdef MADV_HUGEPAGE
  // A file that is read from disk now comes in pages of 2 MB where the file system can do that; see huge_pages.h for what lies
  // in memory already.
  madvise(data, size_, MADV_HUGEPAGE);
#endif
  try {
    slot_ = guard(data_, align_up(size_, page_size()));
  } catch (...) {
    munmap(data_, size_);
    close(fd_);
    throw;
  }
}

MappedFile::~MappedFile() {
  guarded[slot_].begin.store(0);
  guarded[slot_].end.store(0);
  munmap(data_, size_);
  guarded[slot_].taken.store(false);
  close(fd_);
}

void MappedFile::check() const {
  struct stat info{};
  const bool same =
      fstat(fd_, &info) == 0 && static_cast<size_t>(info.st_size) == size_ && modified_of(info) == modified_;
  if (!same || guarded[slot_].lost.load(std::memory_order_acquire))
    fail(Code::input_changed, "[weights] the file changed while it was in use: %s", path_.c_str());
}

Weights::Weights(const std::vector<std::string>& paths, const std::vector<std::string>& identities) {
  if (paths.empty()) fail(Code::input_argument, "[weights] no file: got an empty list, expected one or more paths");
  if (!identities.empty() && identities.size() != paths.size())
    fail(Code::input_argument, "[weights] identities: got %zu, expected %zu or none", identities.size(), paths.size());
  for (size_t i = 0; i < paths.size(); i++)
    files_.push_back(std::make_unique<MappedFile>(paths[i], identities.empty() ? std::string() : identities[i]));
}

void Weights::use_huge_pages(HugePages::Way way, size_t available) {
  // A file that does not fit into memory would only push itself out.
  if (bytes() < kWorthwhile || bytes() > (way == HugePages::Way::copy ? available / 2 : available)) return;
  std::vector<Mapping> mappings;
  for (const auto& file : files_) mappings.push_back(file->mapping());
  huge_.begin(std::move(mappings), way);
}

size_t Weights::bytes() const {
  size_t total = 0;
  for (const auto& file : files_) total += file->size();
  return total;
}

void Weights::check() const {
  for (const auto& file : files_) file->check();
}

const uint8_t* Weights::at(size_t file, uint64_t offset, uint64_t bytes) const {
  if (file >= files_.size())
    fail(Code::input_argument, "[weights] file %zu of %zu does not exist", file, files_.size());
  const MappedFile& mapped = *files_[file];
  if (offset > mapped.size() || bytes > mapped.size() - offset)
    fail(Code::input_argument, "[weights] %llu bytes at %llu are outside %s (%zu bytes)",
         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(offset), mapped.path().c_str(),
         mapped.size());
  return mapped.data() + offset;
}

}  // namespace rlx
