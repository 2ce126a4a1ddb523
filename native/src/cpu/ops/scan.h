// Recurrences over the tokens of a step with a state for each head, which stays for the next step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "../kernel.h"
#include "../kernels/scan.h"

namespace rlx {

// What such kernels share: all operands of one type, the state before as an operand, the state
// after as result 1, which may be the same memory. An item is a run of heads, and no head reads
// another's state.
template <class T>
class HeadScan : public Op {
 public:
  static constexpr DType kType = std::is_same_v<T, double> ? DType::f64 : DType::f32;

  HeadScan(const OpContext& context, size_t operands) : Op(context) {
    arity(operands, operands, 2);
    for (const Tensor* tensor : c.in) expect_type(tensor, kType, "operand");
    for (const Tensor* tensor : c.out) expect_type(tensor, kType, "result");
  }
  size_t items(size_t) const override { return ceil_div(heads_, grain_); }
  void run(size_t, size_t item, Thread& thread) override {
    const size_t last = std::min(heads_, (item + 1) * grain_);
    const size_t cells = columns_ * rows_;
    for (size_t head = item * grain_; head < last; head++) {
      T* state = out(1).template as<T>() + head * cells;
      const T* before = in(state_).template as<T>() + head * cells;
      if (state != before) std::memcpy(state, before, cells * sizeof(T));
      pass(head, state, reinterpret_cast<T*>(thread.scratch));
    }
  }

 protected:
  // All tokens of one head.
  virtual void pass(size_t head, T* state, T* scratch) = 0;
  // x is [tokens, heads, columns], operand `state` is [heads, columns, rows].
  void bind_sizes(size_t state) {
    expect(in(0).rank == 3 && in(state).rank == 3, "x or the state have another rank");
    state_ = state;
    tokens_ = in(0).shape[0];
    heads_ = in(0).shape[1];
    columns_ = in(0).shape[2];
    rows_ = in(state).shape[2];
    expect(in(state).shape[0] == heads_ && in(state).shape[1] == columns_, "the state does not fit x");
    expect(out(0).count == in(0).count && out(1).count == in(state).count, "a result has another size");
    grain_ = std::max<size_t>(1, kGrain / 8 / std::max<size_t>(1, tokens_ * columns_ * rows_));
  }
  const T* at(size_t operand, size_t index) const { return in(operand).template as<T>() + index; }
  size_t tokens_ = 0, heads_ = 0, columns_ = 0, rows_ = 0, grain_ = 1, state_ = 0;
};

// (x [T, H, P], step [T, H, 1 or N], rate [H, 1 or N], b [T, G, N], c [T, G, N], state [H, P, N])
// {before}.
template <class T>
class SelectiveScan final : public HeadScan<T> {
  using Base = HeadScan<T>;
  using Base::at, Base::columns_, Base::expect, Base::heads_, Base::in, Base::rows_, Base::tokens_;

 public:
  explicit SelectiveScan(const OpContext& context) : Base(context, 6), before_(context.params.flag("before")) {}
  void bind() override {
    Base::bind_sizes(5);
    const auto width = [&](const Tensor& tensor, size_t lines, const char* what) {
      expect(tensor.count == lines || tensor.count == lines * rows_, what);
      return lines == 0 ? 1 : tensor.count / lines;
    };
    steps_ = width(in(1), tokens_ * heads_, "step has another size");
    rates_ = width(in(2), heads_, "rate has another size");
    expect(in(3).rank == 3 && in(3).shape[0] == tokens_ && in(3).shape[2] == rows_ && in(4).count == in(3).count,
           "b or c have another size");
    groups_ = in(3).shape[1];
    expect(groups_ > 0 && heads_ % groups_ == 0, "the heads do not divide into groups");
    this->thread_bytes = rows_ * sizeof(T);
  }

 protected:
  void pass(size_t head, T* state, T* decays) override {
    const size_t group = head / (heads_ / groups_);
    const T* rate = at(2, head * rates_);
    for (size_t t = 0; t < tokens_; t++) {
      const size_t row = t * heads_ + head;
      const T* b = at(3, (t * groups_ + group) * rows_);
      const T* c = at(4, (t * groups_ + group) * rows_);
      fade(at(1, row * steps_), rate, decays);
      const T* x = at(0, row * columns_);
      T* y = this->out(0).template as<T>() + row * columns_;
      if constexpr (std::is_same_v<T, float>) {
        kernels::scan_table(this->c.kernels.isa).scan({state, decays, x, b, c, y, columns_, rows_, before_});
      } else {
        for (size_t p = 0; p < columns_; p++) y[p] = turn(state + p * rows_, decays, x[p], b, c);
      }
    }
  }

 private:
  void fade(const T* step, const T* rate, T* decays) const {
    if (steps_ == 1 && rates_ == 1) {
      std::fill_n(decays, rows_, std::exp(*step * *rate));
      return;
    }
    for (size_t n = 0; n < rows_; n++) decays[n] = step[steps_ == 1 ? 0 : n] * rate[rates_ == 1 ? 0 : n];
    if constexpr (std::is_same_v<T, float>)
      this->c.kernels.unary(kernels::Unary::exp, decays, decays, rows_);
    else
      for (size_t n = 0; n < rows_; n++) decays[n] = std::exp(decays[n]);
  }
  T turn(T* state, const T* decays, T x, const T* b, const T* c) const {
    T sum = 0;
    for (size_t n = 0; n < rows_; n++) {
      const T old = state[n], fresh = decays[n] * old + x * b[n];
      state[n] = fresh;
      sum += (before_ ? old : fresh) * c[n];
    }
    return sum;
  }

  size_t steps_ = 1, rates_ = 1, groups_ = 1;
  bool before_;
};

// (r, decay, k, v, a, b [T, H, N], state [H, N, N]): state ← state · (diag(decay) + a bᵀ) + v kᵀ,
// y = state r.
template <class T>
class Wkv7 final : public HeadScan<T> {
  using Base = HeadScan<T>;
  using Base::at, Base::columns_, Base::expect, Base::heads_, Base::in, Base::rows_, Base::tokens_;

 public:
  explicit Wkv7(const OpContext& context) : Base(context, 7) {}
  void bind() override {
    Base::bind_sizes(6);
    expect(rows_ == columns_, "the state is not square");
    for (size_t i = 1; i < 6; i++) expect(in(i).count == in(0).count, "an operand has another size");
  }

 protected:
  void pass(size_t head, T* state, T*) override {
    for (size_t t = 0; t < tokens_; t++) {
      const size_t token = (t * heads_ + head) * rows_;
      const T *r = at(0, token), *decay = at(1, token), *k = at(2, token), *v = at(3, token), *a = at(4, token),
              *b = at(5, token);
      T* y = this->out(0).template as<T>() + token;
      if constexpr (std::is_same_v<T, float>) {
        kernels::scan_table(this->c.kernels.isa).wkv7({state, r, decay, k, v, a, b, y, rows_});
        continue;
      }
      for (size_t row = 0; row < columns_; row++) {
        T* line = state + row * rows_;
        T held = 0, sum = 0;
        for (size_t n = 0; n < rows_; n++) held += line[n] * a[n];
        for (size_t n = 0; n < rows_; n++) {
          line[n] = line[n] * decay[n] + held * b[n] + v[row] * k[n];
          sum += line[n] * r[n];
        }
        y[row] = sum;
      }
    }
  }
};

}  // namespace rlx
