// The kernels by family; each file of this folder ends with its table.
#pragma once

#include <span>
#include <vector>

#include "../kernel.h"

namespace rlx {

std::span<const KernelEntry> binary_kernels();
std::span<const KernelEntry> unary_kernels();
std::span<const KernelEntry> region_kernels();
std::span<const KernelEntry> cast_kernels();
std::span<const KernelEntry> reduce_kernels();
std::span<const KernelEntry> softmax_kernels();
std::span<const KernelEntry> move_kernels();
std::span<const KernelEntry> gather_kernels();
std::span<const KernelEntry> position_kernels();
std::span<const KernelEntry> linear_kernels();
std::span<const KernelEntry> linear_grouped_kernels();
std::span<const KernelEntry> matmul_kernels();
std::span<const KernelEntry> convolution_kernels();
std::span<const KernelEntry> pool_kernels();
std::span<const KernelEntry> norm_kernels();
std::span<const KernelEntry> rope_kernels();
std::span<const KernelEntry> attention_kernels();
std::span<const KernelEntry> general_attention_kernels();
std::span<const KernelEntry> fft_kernels();
std::span<const KernelEntry> sequence_kernels();
std::span<const KernelEntry> recurrence_kernels();
std::span<const KernelEntry> random_kernels();
std::span<const KernelEntry> complex_kernels();
std::span<const KernelEntry> factor_kernels();
std::span<const KernelEntry> splat_kernels();
std::span<const KernelEntry> control_kernels();

inline std::vector<std::span<const KernelEntry>> kKernelTables() {
  return {convolution_kernels(),
          pool_kernels(),
          binary_kernels(),
          unary_kernels(),
          cast_kernels(),
          reduce_kernels(),
          softmax_kernels(),
          move_kernels(),
          gather_kernels(),
          position_kernels(),
          linear_kernels(),
          linear_grouped_kernels(),
          matmul_kernels(),
          norm_kernels(),
          rope_kernels(),
          attention_kernels(),
          general_attention_kernels(),
          fft_kernels(),
          sequence_kernels(),
          recurrence_kernels(),
          random_kernels(),
          complex_kernels(),
          factor_kernels(),
          control_kernels(),
          region_kernels(),
          splat_kernels()};
}

}  // namespace rlx
