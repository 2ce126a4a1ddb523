// macOS's part of what it shares with Linux, and its threads.
#include <pthread.h>
#include <pthread/qos.h>

#include "../platform.h"
#include "../posix/posix.h"

namespace rlx::platform {

// Pages of macOS have one size.
void advise_huge(void*, size_t) {}

int64_t modified_of(const struct stat& info) {
  return int64_t{info.st_mtimespec.tv_sec} * 1000000000 + info.st_mtimespec.tv_nsec;
}

void mark_compute_thread(const char* name) {
  pthread_setname_np(name);
  pthread_set_qos_class_self_np(QOS_CLASS_USER_INTERACTIVE, 0);
}

}  // namespace rlx::platform
