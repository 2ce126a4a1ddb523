// Measures how fast this machine reads memory: the peak for achieved bandwidth.
#pragma once

#include <atomic>
#include <cstddef>

#include "../core/pool.h"

namespace rlx {

// Bytes per second; the best of the passes over `bytes` of memory that fit into `seconds`.
double read_bandwidth(Pool& pool, size_t threads, size_t bytes, double seconds, const std::atomic<bool>& cancel);

}  // namespace rlx
