#include <windows.h>

#include "../processor.h"

namespace rlx::kernels {

// Numbers of PF_ARM_V82_DP_ and PF_ARM_V82_I8MM_INSTRUCTIONS_AVAILABLE, which older headers lack.
bool has_arm_dot_product() { return IsProcessorFeaturePresent(43) != 0; }
bool has_arm_int8_matmul() { return IsProcessorFeaturePresent(66) != 0; }
bool allows_amx_tiles() { return false; }

}  // namespace rlx::kernels
