#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(RLX_HAVE_AMX)
#include <cpuid.h>
#endif

#include "../processor.h"

namespace rlx::kernels {

bool has_arm_dot_product() { return (getauxval(AT_HWCAP) & 1UL << 20) != 0; }
bool has_arm_int8_matmul() { return (getauxval(AT_HWCAP2) & 1UL << 13) != 0; }

#if defined(RLX_HAVE_AMX)
bool allows_amx_tiles() {
  constexpr unsigned tiles_and_bytes = 1u << 24 | 1u << 25;
  constexpr long request_permission = 0x1023, tile_data = 18;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & tiles_and_bytes) != tiles_and_bytes) return false;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#else
bool allows_amx_tiles() { return false; }
#endif

}  // namespace rlx::kernels
