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

// Some columns of state [rows, columns], whose rows lie `stride` apart: state ← decay · state, then
// + k ⊗ beta (v − stateᵀ k); y = scale · stateᵀ q.
struct DeltaStep {
  float* state;
  const float* decays;  // of each row of the state
  const float *q, *k, *v;
  float* y;
  float beta, scale;
  size_t rows, columns, stride;
};

// A key of the delta rule ← decays · key, where there are some; its products with a later key and query.
struct DeltaPair {
  float* key;
  const float *decays, *later_key, *query;
  size_t rows;
  float *with_key, *with_query;
};

struct ScanTable {
  void (*scan)(const ScanStep&);
  void (*wkv7)(const Wkv7Step&);
  void (*delta)(const DeltaStep&);
  void (*fade_and_meet)(const DeltaPair&);
};
const ScanTable& scan_table(Isa isa);

}  // namespace rlx::kernels
