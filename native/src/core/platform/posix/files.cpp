// Files and their mappings. A SIGBUS handler maps zeros where a file has been cut, so that the
// process survives the read.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

#include "../../error.h"
#include "../../memory.h"
#include "../platform.h"
#include "posix.h"

namespace rlx::platform {
namespace {

// What the signal handler may look at: fixed memory, atomics only. A signal handler belongs to the
// process, so this table does too; everything else in the engine belongs to an environment.
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
    // The rest of the file reads as zero from here on; the run ends with an error because of
    // `lost`.
    uint8_t* page = static_cast<uint8_t*>(info->si_addr) - address % page_size();
    void* mapped =
        mmap(page, end - reinterpret_cast<uintptr_t>(page), PROT_READ, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0);
    entry.lost.store(true, std::memory_order_release);
    if (mapped != MAP_FAILED) {
      errno = saved;
      return;
    }
  }
  // Another address: the handler that was there before, or the default, which ends the process.
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

// The entry that now guards these bytes, or -1 when all are taken.
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
  return -1;
}

}  // namespace

OpenFile::OpenFile(const std::string& path) : handle_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (handle_ < 0)
    fail(errno == ENOENT ? Code::input_not_found : Code::input_unreadable, "[weights] cannot open %s: %s", path.c_str(),
         std::strerror(errno));
}

OpenFile::~OpenFile() { close(static_cast<int>(handle_)); }

std::optional<FileFacts> OpenFile::facts() const {
  struct stat info{};
  if (fstat(static_cast<int>(handle_), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return FileFacts{static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino),
                   static_cast<uint64_t>(info.st_size), modified_of(info)};
}

FileMap::FileMap(const OpenFile& file, size_t size, const std::string& path) : data_(reserve_huge(size)), size_(size) {
  const int fd = static_cast<int>(file.handle());
  if (data_ == nullptr || mmap(data_, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
    const char* why = std::strerror(errno);
    if (data_ != nullptr) munmap(data_, size);
    fail(Code::env_no_memory, "[weights] cannot map %s (%zu bytes): %s", path.c_str(), size, why);
  }
  // A file that is read from disk now comes in pages of 2 MB where the file system can do that;
  // huge_pages.h is for what lies in memory already.
  advise_huge(data_, size);
  guard_ = guard(data_, align_up(size, page_size()));
  if (guard_ >= 0) return;
  munmap(data_, size);
  fail(Code::env_no_memory, "[weights] too many mapped files: got more than %d", kGuarded);
}

FileMap::~FileMap() {
  guarded[guard_].begin.store(0);
  guarded[guard_].end.store(0);
  munmap(data_, size_);
  guarded[guard_].taken.store(false);
}

bool FileMap::lost() const { return guarded[guard_].lost.load(std::memory_order_acquire); }

}  // namespace rlx::platform
