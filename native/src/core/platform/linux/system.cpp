// Linux's part of what it shares with macOS, and its threads.
#include <pthread.h>
#include <sys/mman.h>

#include "../platform.h"
#include "../posix/posix.h"

namespace rlx::platform {

void advise_huge(void* data, size_t bytes) { madvise(data, bytes, MADV_HUGEPAGE); }

int64_t modified_of(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec;
}

void mark_compute_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

}  // namespace rlx::platform
