// Recurrences of one head over one token, in f32: a table for each instruction set beside the main
// one.
#pragma once

#include "kernels.h"

namespace rlx::kernels {

// state [columns, rows] ← decay · state + x ⊗ b; y[p] = row p of the state · c, after or before.
struct ScanStep {
  float* state;
  const float* decays;  // of each row of the state
  const float *x, *b, *c;
  float* y;
  size_t columns, rows;
  bool before;
};
// state [rows, rows] ← state · (diag(decay) + a bᵀ) + v kᵀ; y = state r.
struct Wkv7Step {
  float* state;
  const float *r, *decay, *k, *v, *a, *b;
  float* y;
  size_t rows;
};

struct ScanTable {
  void (*scan)(const ScanStep&);
  void (*wkv7)(const Wkv7Step&);
};
const ScanTable& scan_table(Isa isa);

}  // namespace rlx::kernels
