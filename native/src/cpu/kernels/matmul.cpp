// One entry for every product: cuts rows into steps, picks the few-token or the panel path, adds
// the epilogue.
#include "vecmath.h"

namespace rlx::kernels::RLX_ISA {
namespace {

bool is_float_kind(Type t) { return act_kind(t) == ActKind::f32; }

struct Scratch {
  float* first;   // [tokens][kRowStep] results of w
  float* second;  // the same of w2
  void* panel;
};

Scratch split(void* scratch, size_t tokens) {
  uint8_t* p = static_cast<uint8_t*>(scratch);
  const size_t results = tokens * kRowStep * sizeof(float);
  return {reinterpret_cast<float*>(p), reinterpret_cast<float*>(p + results), p + 2 * results};
}

// One matrix of a product.
struct Weights {
  Type type;
  const void* rows;
  size_t row_bytes;
  const void* act;
  Prefetch prefetch;
};
Weights first_of(const MatmulArgs& a) { return {a.type, a.w, a.row_bytes, a.act, a.prefetch}; }
Weights second_of(const MatmulArgs& a) { return {a.type2, a.w2, a.row_bytes2, a.act2, a.prefetch2}; }

void raw_rows(const Weights& w, const MatmulArgs& a, size_t n0, size_t rows, size_t t0, size_t t1, float* out,
              void* panel) {
  const Type type = w.type;
  const ActView act = view_act(act_layout(act_kind(type), a.k, a.tokens), w.act, a.k, a.tokens);
  const RowsTask task = {
      type,      static_cast<const uint8_t*>(w.rows) + n0 * w.row_bytes, w.row_bytes, rows, a.k, act, t0, t1, out,
      w.prefetch};
  if (a.as_ggml && (type == Type::f16 || type == Type::f32)) return rows_ggml(task, a.rows);
  // With 16 lanes few running sums keep up with memory, and halves need no buffer.
  if (W == 16 && type == Type::f16 && a.tokens < kPanelMinTokens) return rows_ggml(task, a.rows);
  if (a.tokens < kPanelMinTokens) {
    if (is_float_kind(type)) return rows_float(task);
    return rows_packed(task);
  }
  if (is_float_kind(type)) return panel_float({task, panel});
  panel_packed({task, panel});
}

// ggml has silu by the system's library behind the whole vectors of a row: of the matrix, at whose
// end alone a range of rows ends within a vector.
F silu_behind_vectors(F x, size_t n) {
  float values[W];
  fstore(values, x);
  for (size_t i = 0; i < n; ++i) values[i] = values[i] / (1.0f + __builtin_expf(-values[i]));
  return fload(values);
}

// The epilogue of one token: rows n0 .. n0 + rows.
void finish(const MatmulArgs& a, const float* first, const float* second, size_t n0, size_t rows, size_t t) {
  float* y = (a.y_rows != nullptr ? a.y_rows[t] : a.y + t * a.ldy) + n0;
  const bool adds = a.add != nullptr || a.add_rows != nullptr;
  const float* add_row = a.add_rows != nullptr ? a.add_rows[t] : adds ? a.add + t * a.ldadd : nullptr;
  const F scale = fset(a.scale);
  for (size_t i = 0; i < rows; i += W) {
    const size_t n = min_size(W, rows - i);
    const bool whole = n == W;
    F v = fload(first + i) * scale;
    if (a.bias != nullptr) v = v + (whole ? fload(a.bias + n0 + i) : fload_n(a.bias + n0 + i, n));
    if (a.glu != Glu::none) {
      if (a.as_ggml && a.glu == Glu::gelu_tanh)
        v = fgelu_half(v);
      else
        v = !whole && a.as_ggml && a.glu == Glu::silu ? silu_behind_vectors(v, n) : activate(a.glu, v);
      if (a.w2 != nullptr) {
        F u = fload(second + i) * scale;
        if (a.bias2 != nullptr) u = u + (whole ? fload(a.bias2 + n0 + i) : fload_n(a.bias2 + n0 + i, n));
        v = v * u;
      }
    }
    if (adds) {
      const float* add = add_row + n0 + i;
      v = v + (whole ? fload(add) : fload_n(add, n));
    }
    if (whole) {
      fstore(y + i, v);
    } else {
      fstore_n(y + i, v, n);
    }
  }
}

// Few tokens are a walk through memory, which prefetchers only follow while it goes on: hundreds of
// rows of the gate, then the same of its partner.
void matmul_few(const MatmulArgs& a, const Scratch& s, bool gated) {
  const size_t tokens = a.t1 - a.t0, rows_a_step = tokens == 1 ? kTokenRows : kRowStep;
  for (size_t b0 = a.n0; b0 < a.n1; b0 += kFewRows) {
    const size_t b1 = min_size(b0 + kFewRows, a.n1);
    const auto each_step = [&](auto visit) {
      for (size_t n0 = b0; n0 < b1; n0 += rows_a_step) visit(n0, min_size(rows_a_step, b1 - n0), (n0 - b0) * tokens);
    };
    each_step([&](size_t n0, size_t rows, size_t at) {
      raw_rows(first_of(a), a, n0, rows, a.t0, a.t1, s.first + at, s.panel);
    });
    if (gated) {
      each_step([&](size_t n0, size_t rows, size_t at) {
        raw_rows(second_of(a), a, n0, rows, a.t0, a.t1, s.second + at, s.panel);
      });
    }
    each_step([&](size_t n0, size_t rows, size_t at) {
      for (size_t t = a.t0; t < a.t1; ++t) {
        const size_t from = at + (t - a.t0) * kRowStep;
        finish(a, s.first + from, s.second + from, n0, rows, t);
      }
    });
  }
}

void matmul_many(const MatmulArgs& a, const Scratch& s, bool gated) {
  for (size_t t0 = a.t0; t0 < a.t1; t0 += kPanelTokens) {
    const size_t t1 = min_size(t0 + kPanelTokens, a.t1);
    for (size_t n0 = a.n0; n0 < a.n1; n0 += kRowStep) {
      const size_t rows = min_size(kRowStep, a.n1 - n0);
      raw_rows(first_of(a), a, n0, rows, t0, t1, s.first, s.panel);
      if (gated) raw_rows(second_of(a), a, n0, rows, t0, t1, s.second, s.panel);
      for (size_t t = t0; t < t1; ++t) {
        finish(a, s.first + (t - t0) * kRowStep, s.second + (t - t0) * kRowStep, n0, rows, t);
      }
    }
  }
}

}  // namespace

void matmul(const MatmulArgs& a, void* scratch) {
  const bool gated = a.glu != Glu::none && a.w2 != nullptr;
  if (a.tokens < kPanelMinTokens) {
    matmul_few(a, split(scratch, (a.t1 - a.t0) * (kFewRows / kRowStep)), gated);
  } else {
    matmul_many(a, split(scratch, min_size(a.t1 - a.t0, kPanelTokens)), gated);
  }
}

}  // namespace rlx::kernels::RLX_ISA
