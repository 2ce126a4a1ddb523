// Features of this processor that the system tells about, or has to allow. One file for each system
// in platform/.
#pragma once

namespace rlx::kernels {

bool has_arm_dot_product();
bool has_arm_int8_matmul();
// Asks the system for the state of AMX tiles: 8 KB for each thread.
bool allows_amx_tiles();

}  // namespace rlx::kernels
