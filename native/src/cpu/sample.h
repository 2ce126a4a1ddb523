// Draws and scores tokens from logits in the CPU engine's memory (core/sampling.h has the steps).
#pragma once

#include <cstddef>

#include "../core/memory.h"
#include "../core/pool.h"
#include "../core/sampling.h"
#include "kernels/kernels.h"

namespace rlx {

Sampled sample(const kernels::Dispatch& kernels, Pool& pool, size_t threads, const float* logits, size_t vocabulary,
               const SampleRequest& request, Pages& work);
Scored score(const kernels::Dispatch& kernels, Pool& pool, size_t threads, const float* logits, size_t rows,
             size_t vocabulary, const ScoreRequest& request);

}  // namespace rlx
