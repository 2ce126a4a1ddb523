// The recurrent layers lstm, gru, rnn.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "doubles.h"
#include "tables.h"

namespace rlx {
namespace {

enum class Cell { lstm, gru, rnn };

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

// x [B, S, I]. Weights are packed layer by layer, direction by direction: w_ih blocks [gates·h, in
// of the layer], w_hh blocks [gates·h, h], biases [gates·h]; h0 and c0 [layers·directions, B, h].
// An item is a batch row: its whole sequence through all layers.
template <Cell kCell, class T>
class Recurrent final : public Op {
 public:
  static constexpr size_t kGates = kCell == Cell::lstm ? 4 : kCell == Cell::gru ? 3 : 1;
  static constexpr size_t kBiases = kCell == Cell::gru ? 2 : 1;
  static constexpr size_t kFixed = 3 + kBiases;
  static constexpr size_t kStates = kCell == Cell::lstm ? 2 : 1;
  static constexpr DType kType = std::is_same_v<T, double> ? DType::f64 : DType::f32;

  explicit Recurrent(const OpContext& context) : Op(context) {
    arity(kFixed, kFixed + kStates, 1 + kStates);
    for (const Tensor* tensor : c.in)
      if (tensor != nullptr) expect_type(tensor, kType, "operand");
    for (const Tensor* tensor : c.out) expect_type(tensor, kType, "result");
    hidden_ = static_cast<size_t>(c.params.integer("hidden", 0, 1, 1 << 20));
    layers_ = static_cast<size_t>(c.params.integer("layers", 1, 1, 1024));
    directions_ = c.params.flag("bidirectional") ? 2 : 1;
    relu_ = c.params.flag("relu");
  }
  void bind() override {
    expect(in(0).rank == 3, "the operand is not [batch, steps, features]");
    batch_ = in(0).shape[0];
    steps_ = in(0).shape[1];
    features_ = in(0).shape[2];
    const size_t wide = directions_ * hidden_;
    const size_t rows = kGates * hidden_;
    size_t input_weights = 0;
    for (size_t layer = 0; layer < layers_; layer++)
      input_weights += directions_ * rows * (layer == 0 ? features_ : wide);
    expect(in(1).count == input_weights, "the input weights have another size");
    expect(in(2).count == layers_ * directions_ * rows * hidden_, "the recurrent weights have another size");
    for (size_t i = 3; i < kFixed; i++) expect(in(i).count == layers_ * directions_ * rows, "a bias has another size");
    for (size_t i = kFixed; i < c.in.size(); i++)
      if (c.in[i] != nullptr)
        expect(in(i).count == layers_ * directions_ * batch_ * hidden_, "a start state has another size");
    expect(out(0).count == batch_ * steps_ * wide, "the result has another size");
    for (size_t i = 1; i <= kStates; i++)
      expect(out(i).count == layers_ * directions_ * batch_ * hidden_, "a state has another size");
    sequence_ = steps_ * std::max(features_, wide);
    thread_bytes = (2 * sequence_ + 2 * rows + 2 * hidden_) * sizeof(T);
  }
  size_t items(size_t) const override { return batch_; }

  void run(size_t, size_t row, Thread& thread) override {
    auto* from = reinterpret_cast<T*>(thread.scratch);
    T* to = from + sequence_;
    T* gates = to + sequence_;
    const size_t wide = directions_ * hidden_;
    std::memcpy(from, in(0).template as<T>() + row * steps_ * features_, steps_ * features_ * sizeof(T));
    size_t weights_at = 0;
    size_t width = features_;
    for (size_t layer = 0; layer < layers_; layer++) {
      for (size_t direction = 0; direction < directions_; direction++) {
        const size_t block = layer * directions_ + direction;
        pass(from, width, in(1).template as<T>() + weights_at, to + direction * hidden_, block, row, direction == 1,
             gates);
        weights_at += kGates * hidden_ * width;
      }
      std::swap(from, to);
      width = wide;
    }
    std::memcpy(out(0).template as<T>() + row * steps_ * wide, from, steps_ * wide * sizeof(T));
  }

 private:
  static T dot(const T* w, const T* x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += static_cast<double>(w[i]) * x[i];
    return static_cast<T>(sum);
  }

  // One layer in one direction over the sequence; results go to y with a stride of
  // directions·hidden.
  void pass(const T* x, size_t width, const T* w_ih, T* y, size_t block, size_t row, bool backwards, T* gates) {
    const size_t rows = kGates * hidden_;
    T* recurrent = gates + rows;
    T* h = recurrent + rows;
    T* cell = h + hidden_;
    const T* w_hh = in(2).template as<T>() + block * rows * hidden_;
    const T* bias = in(3).template as<T>() + block * rows;
    const size_t state = (block * batch_ + row) * hidden_;
    load(h, kFixed, state);
    if (kCell == Cell::lstm) load(cell, kFixed + 1, state);
    for (size_t step = 0; step < steps_; step++) {
      const size_t t = backwards ? steps_ - 1 - step : step;
      for (size_t g = 0; g < rows; g++) {
        gates[g] = dot(w_ih + g * width, x + t * width, width) + bias[g];
        recurrent[g] = dot(w_hh + g * hidden_, h, hidden_);
      }
      advance(gates, recurrent, h, cell, block);
      std::memcpy(y + t * directions_ * hidden_, h, hidden_ * sizeof(T));
    }
    std::memcpy(out(1).template as<T>() + state, h, hidden_ * sizeof(T));
    if constexpr (kCell == Cell::lstm) std::memcpy(out(2).template as<T>() + state, cell, hidden_ * sizeof(T));
  }

  void load(T* to, size_t operand, size_t at) const {
    if (maybe(operand) == nullptr)
      std::memset(to, 0, hidden_ * sizeof(T));
    else
      std::memcpy(to, in(operand).template as<T>() + at, hidden_ * sizeof(T));
  }

  void advance(const T* z, const T* r, T* h, T* cell, size_t block) const {
    const size_t n = hidden_;
    for (size_t i = 0; i < n; i++) {
      if constexpr (kCell == Cell::lstm) {
        // Gates in the order i, f, g, o.
        const T input = sigmoid(z[i] + r[i]);
        const T forget = sigmoid(z[n + i] + r[n + i]);
        const T candidate = std::tanh(z[2 * n + i] + r[2 * n + i]);
        const T output = sigmoid(z[3 * n + i] + r[3 * n + i]);
        cell[i] = forget * cell[i] + input * candidate;
        h[i] = output * std::tanh(cell[i]);
      } else if constexpr (kCell == Cell::gru) {
        // Gates in the order r, z, n; the recurrent bias of n stands inside the reset gate.
        const T* b = in(4).template as<T>() + block * 3 * n;
        const T reset = sigmoid(z[i] + r[i] + b[i]);
        const T update = sigmoid(z[n + i] + r[n + i] + b[n + i]);
        const T candidate = std::tanh(z[2 * n + i] + reset * (r[2 * n + i] + b[2 * n + i]));
        h[i] = (1 - update) * candidate + update * h[i];
      } else {
        const T sum = z[i] + r[i];
        // No number stays no number, which fmax would make 0.
        h[i] = !relu_ ? std::tanh(sum) : sum < 0 ? T{0} : sum;
      }
    }
  }

  size_t hidden_, layers_, directions_, batch_ = 0, steps_ = 0, features_ = 0, sequence_ = 0;
  bool relu_;
};

constexpr KernelEntry kTable[] = {
    {"lstm", make_real<Recurrent<Cell::lstm, float>, Recurrent<Cell::lstm, double>>},
    {"gru", make_real<Recurrent<Cell::gru, float>, Recurrent<Cell::gru, double>>},
    {"rnn", make_real<Recurrent<Cell::rnn, float>, Recurrent<Cell::rnn, double>>},
};

}  // namespace

std::span<const KernelEntry> sequence_kernels() { return kTable; }

}  // namespace rlx
