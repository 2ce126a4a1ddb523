// The gated delta rule: a state for each head, which decays, learns values for keys and answers
// queries. In f32 long prompts go through products of matrices, a chunk of tokens at a time.
//
// Of a chunk with keys k, values v, decays d (each a number or one a row of the state) and state S
// before it, with D(t, s) the product of the decays after token s up to t:
//   u[t] = beta[t] (v[t] - (D(t, -1) k[t])' S - sum over s < t of (k[t]' D(t, s) k[s]) u[s])
//   y[t] = scale ((D(t, -1) q[t])' S + sum over s <= t of (q[t]' D(t, s) k[s]) u[s])
//   S after = D(last, -1) S + sum of (D(last, s) k[s]) u[s]'
// which is the recurrence with its changes u written out; the first sum is a triangular system.
// Decays are only ever multiplied, never divided by, so that strong ones go to zero and no further.
// A token never meets a later one, not even by zero: NaN and infinities stay where they belong.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "../kernel.h"
#include "../kernels/scan.h"

namespace rlx {

// Where the parts of a chunk of `count` tokens are computed. Rows of keys lie before those of
// queries, so that both are one factor of a product.
struct DeltaRoom {
  static constexpr size_t kChunk = 32;

  DeltaRoom(float* at, size_t size, size_t columns, size_t count)
      : keys(at),
        queries(keys + count * size),
        late_keys(keys + 2 * kChunk * size),
        decays(late_keys + kChunk * size),
        faded(decays + kChunk * size),
        key_pairs(faded + 2 * size),
        query_pairs(key_pairs + count * kChunk),
        changes(key_pairs + 2 * kChunk * kChunk),
        answers(changes + count * columns) {}
  static size_t floats(size_t size, size_t columns) {
    return (4 * kChunk + 2) * size + 2 * kChunk * (kChunk + columns);
  }

  float *keys, *queries;           // of each token, later faded from before the chunk on
  float* late_keys;                // keys faded up to the end of the chunk: a line for each channel
  float* decays;                   // of each token
  float* faded;                    // all decays so far, and a key on its way
  float *key_pairs, *query_pairs;  // of a token with a token before it
  float *changes, *answers;        // u and y
};

// (q, k [T, H, N], v [T, H, V], gate [T, H] or [T, H, N], beta [T, H], S [H, N, V]) → [T, H, V], S
// after, which may be the memory of S. An item is a run of columns of one head: columns of S do not
// meet.
template <class T>
class GatedDelta final : public Op {
 public:
  static constexpr size_t kColumns = 64;
  // Below, the recurrence is as quick; a step of a few drafted tokens has the bits of one by one.
  static constexpr size_t kLeastTokens = 16;
  static constexpr DType kType = std::is_same_v<T, double> ? DType::f64 : DType::f32;

  explicit GatedDelta(const OpContext& context) : Op(context) {
    arity(6, 6, 2);
    for (const Tensor* tensor : c.in) expect_type(tensor, kType, "operand");
    for (const Tensor* tensor : c.out) expect_type(tensor, kType, "result");
  }
  void bind() override {
    expect(in(0).rank == 3 && in(2).rank == 3, "queries or values are not [T, H, size]");
    tokens_ = in(0).shape[0];
    heads_ = in(0).shape[1];
    size_ = in(0).shape[2];
    wide_ = in(2).shape[2];
    const size_t rows = tokens_ * heads_;
    expect(in(1).count == rows * size_ && in(2).count == rows * wide_, "keys or values have another size");
    expect(in(3).count == rows || in(3).count == rows * size_, "the gate has another size");
    expect(in(4).count == rows && in(5).count == heads_ * size_ * wide_, "beta or the state has another size");
    expect(out(0).count == in(2).count && out(1).count == in(5).count, "a result has another size");
    gates_ = in(3).count == rows ? 1 : size_;
    const bool chunks = std::is_same_v<T, float> && tokens_ >= kLeastTokens;
    // With heads enough for all threads a chunk's pairs are computed once.
    columns_ = chunks && heads_ >= 2 * c.threads ? std::max<size_t>(1, wide_) : kColumns;
    blocks_ = ceil_div(wide_, columns_);
    thread_bytes = size_ * sizeof(T);
    if (chunks) thread_bytes = kernels::kGemmScratchBytes + DeltaRoom::floats(size_, columns_) * sizeof(float);
  }
  size_t items(size_t) const override { return heads_ * blocks_; }
  void run(size_t, size_t item, Thread& thread) override {
    const size_t head = item / blocks_, from = item % blocks_ * columns_;
    const size_t columns = std::min(columns_, wide_ - from);
    T* state = out(1).template as<T>() + head * size_ * wide_ + from;
    const T* before = in(5).template as<T>() + head * size_ * wide_ + from;
    if (state != before)
      for (size_t i = 0; i < size_; i++) std::memcpy(state + i * wide_, before + i * wide_, columns * sizeof(T));
    const T scale = 1 / std::sqrt(static_cast<T>(size_));
    if constexpr (std::is_same_v<T, float>) {
      if (tokens_ >= kLeastTokens) {
        for (size_t t = 0; t < tokens_; t += kLine)
          chunk({head, from, columns, t, std::min(kLine, tokens_ - t), scale}, state, thread.scratch);
        return;
      }
    }
    T* decays = reinterpret_cast<T*>(thread.scratch);
    for (size_t t = 0; t < tokens_; t++) {
      const size_t row = t * heads_ + head;
      const T *q = in(0).template as<T>() + row * size_, *k = in(1).template as<T>() + row * size_;
      const T* v = in(2).template as<T>() + row * wide_ + from;
      T* y = out(0).template as<T>() + row * wide_ + from;
      fade(in(3).template as<T>() + row * gates_, decays);
      const T beta = in(4).template as<T>()[row];
      if constexpr (std::is_same_v<T, float>) {
        kernels::scan_table(c.kernels.isa).delta({state, decays, q, k, v, y, beta, scale, size_, columns, wide_});
      } else {
        token(state, decays, columns, q, k, v, beta, scale, y);
      }
    }
  }

 private:
  void fade(const T* gate, T* decays) const {
    if (gates_ == 1) {
      std::fill_n(decays, size_, std::exp(gate[0]));
      return;
    }
    for (size_t i = 0; i < size_; i++) decays[i] = std::exp(gate[i]);
  }
  void token(T* state, const T* decays, size_t columns, const T* q, const T* k, const T* v, T beta, T scale,
             T* y) const {
    T known[kColumns] = {}, sum[kColumns] = {};
    for (size_t i = 0; i < size_; i++) {
      T* s = state + i * wide_;
      for (size_t j = 0; j < columns; j++) {
        s[j] *= decays[i];
        known[j] += s[j] * k[i];
      }
    }
    for (size_t j = 0; j < columns; j++) known[j] = (v[j] - known[j]) * beta;
    for (size_t i = 0; i < size_; i++) {
      T* s = state + i * wide_;
      for (size_t j = 0; j < columns; j++) {
        s[j] += k[i] * known[j];
        sum[j] += s[j] * q[i];
      }
    }
    for (size_t j = 0; j < columns; j++) y[j] = sum[j] * scale;
  }

  // Tokens `first` to first + count of one head, for some columns of its state.
  struct Chunk {
    size_t head, from, columns, first, count;
    float scale;
  };
  // Row of a token of the chunk in an operand or result of [T, H, size].
  const float* row(size_t operand, const Chunk& chunk, size_t token, size_t size) const {
    return in(operand).f32() + ((chunk.first + token) * heads_ + chunk.head) * size;
  }
  // y = a * b, of which one number or one for each channel.
  void fade(const float* a, const float* b, float* y) const {
    c.kernels.binary(kernels::Binary::mul, a, 1, b, gates_ == 1 ? 0 : 1, y, size_);
  }
  void times(float factor, const float* x, float* y, size_t n) const {
    c.kernels.binary(kernels::Binary::mul, x, 1, &factor, 0, y, n);
  }

  void chunk(const Chunk& at, float* state, uint8_t* scratch) const {
    const size_t n = at.count, columns = at.columns;
    const DeltaRoom room(reinterpret_cast<float*>(scratch + kernels::kGemmScratchBytes), size_, columns, n);
    for (size_t t = 0; t < n; t++) {
      std::memcpy(room.keys + t * size_, row(1, at, t, size_), size_ * sizeof(float));
      std::memcpy(room.queries + t * size_, row(0, at, t, size_), size_ * sizeof(float));
      c.kernels.unary(kernels::Unary::exp, row(3, at, t, gates_), room.decays + t * gates_, gates_);
    }
    if (gates_ == 1) {
      pairs_by_product(n, room, scratch);
    } else {
      pairs_by_channel(n, room);
    }
    std::fill_n(room.faded, gates_, 1.0f);
    for (size_t t = 0; t < n; t++) {
      for (size_t i = 0; i < gates_; i++) room.faded[i] *= room.decays[t * gates_ + i];
      fade(room.keys + t * size_, room.faded, room.keys + t * size_);
      fade(room.queries + t * size_, room.faded, room.queries + t * size_);
    }
    c.kernels.gemm({room.keys, size_, 2 * n, size_, state, wide_, columns, room.changes, columns}, scratch);
    for (size_t t = 0; t < n; t++) {
      const float beta = in(4).f32()[(at.first + t) * heads_ + at.head];
      float* u = room.changes + t * columns;
      c.kernels.binary(kernels::Binary::sub, row(2, at, t, wide_) + at.from, 1, u, 1, u, columns);
      times(beta, u, u, columns);
      times(-beta, room.key_pairs + t * kLine, room.key_pairs + t * kLine, t);
    }
    // Rows of the system in blocks: what earlier blocks give is a product.
    for (size_t b = 0; b < n; b += kBlock) {
      const size_t rows = std::min(kBlock, n - b);
      triangle({room.key_pairs, room.changes, room.changes, b, rows, columns, 0}, scratch);
      triangle({room.query_pairs, room.changes, room.answers, b, rows, columns, 1}, scratch);
    }
    for (size_t t = 0; t < n; t++)
      times(at.scale, room.answers + t * columns, out(0).f32() + ((at.first + t) * heads_ + at.head) * wide_ + at.from,
            columns);
    for (size_t i = 0; i < size_; i++)
      times(room.faded[gates_ == 1 ? 0 : i], state + i * wide_, state + i * wide_, columns);
    c.kernels.gemm({room.late_keys, kLine, size_, n, room.changes, columns, columns, state, wide_, true}, scratch);
  }

  // With one decay for a token its pairs are products of matrices, each faded by one number.
  void pairs_by_product(size_t n, const DeltaRoom& room, uint8_t* scratch) const {
    for (size_t s = 0; s < n; s++)
      for (size_t i = 0; i < size_; i++) room.late_keys[i * kLine + s] = room.keys[s * size_ + i];
    c.kernels.gemm({room.keys, size_, 2 * n, size_, room.late_keys, kLine, n, room.key_pairs, kLine}, scratch);
    float late[kLine];
    for (size_t t = 0; t < n; t++) {
      for (size_t s = 0; s < t; s++) late[s] *= room.decays[t];
      late[t] = 1;
      for (size_t s = 0; s < t; s++) {
        room.key_pairs[t * kLine + s] *= late[s];
        room.query_pairs[t * kLine + s] *= late[s];
      }
    }
    for (size_t i = 0; i < size_; i++)
      for (size_t s = 0; s < n; s++) room.late_keys[i * kLine + s] *= late[s];
  }

  // With decays of their own for channels a key fades from token to token.
  void pairs_by_channel(size_t n, const DeltaRoom& room) const {
    const auto& table = kernels::scan_table(c.kernels.isa);
    float* key = room.faded + size_;
    for (size_t s = 0; s < n; s++) {
      std::memcpy(key, room.keys + s * size_, size_ * sizeof(float));
      for (size_t t = s; t < n; t++) {
        const size_t pair = t * kLine + s;
        table.fade_and_meet({key, t == s ? nullptr : room.decays + t * size_, room.keys + t * size_,
                             room.queries + t * size_, size_, room.key_pairs + pair, room.query_pairs + pair});
      }
      for (size_t i = 0; i < size_; i++) room.late_keys[i * kLine + s] = key[i];
    }
  }

  // Rows `first` to first + rows of y += the lower triangle of weights * x, with its diagonal or
  // without. y may be x: a row takes only rows that are done.
  struct Triangle {
    const float *weights, *x;
    float* y;
    size_t first, rows, columns, diagonal;
  };
  void triangle(const Triangle& a, uint8_t* scratch) const {
    const float* weights = a.weights + a.first * kLine;
    float* y = a.y + a.first * a.columns;
    if (a.first > 0)
      c.kernels.gemm({weights, kLine, a.rows, a.first, a.x, a.columns, a.columns, y, a.columns, true}, scratch);
    for (size_t t = 0; t < a.rows; t++, y += a.columns, weights += kLine)
      for (size_t s = a.first; s < a.first + t + a.diagonal; s++)
        c.kernels.add_scaled(weights[s], a.x + s * a.columns, y, a.columns);
  }

  static constexpr size_t kLine = DeltaRoom::kChunk;
  static constexpr size_t kBlock = 8;
  size_t tokens_ = 0, heads_ = 0, size_ = 0, wide_ = 0, gates_ = 1, columns_ = kColumns, blocks_ = 0;
};

}  // namespace rlx
