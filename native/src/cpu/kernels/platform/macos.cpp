#include <sys/sysctl.h>

#include <cstddef>

#include "../processor.h"

namespace rlx::kernels {
namespace {

bool has(const char* feature) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(feature, &value, &size, nullptr, 0) == 0 && value == 1;
}

}  // namespace

bool has_arm_dot_product() { return has("hw.optional.arm.FEAT_DotProd"); }
bool has_arm_int8_matmul() { return has("hw.optional.arm.FEAT_I8MM"); }
bool allows_amx_tiles() { return false; }

}  // namespace rlx::kernels
