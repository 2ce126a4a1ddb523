// Fourier transforms of rows [block of re, block of im], any length: as stages of radix 4, 2, 3 and 5,
// in the row's own type; other lengths as a convolution of a power of two in f64 (Bluestein, 1970).
#include <cmath>
#include <cstring>
#include <vector>

#include "../kernels/fft_stages.h"
#include "doubles.h"
#include "tables.h"

namespace rlx {
namespace {

constexpr double kPi = 3.14159265358979323846;

void run_stage(const kernels::Dispatch& table, size_t radix, kernels::Halves2<const float> x, kernels::Halves2<float> y,
               size_t m, size_t s, const float* twiddles) {
  table.fft_stage(radix, x.re, x.im, y.re, y.im, m, s, twiddles);
}
void run_stage(const kernels::Dispatch&, size_t radix, kernels::Halves2<const double> x, kernels::Halves2<double> y,
               size_t m, size_t s, const double* twiddles) {
  kernels::fft_stage<kernels::SingleLane<double>, double>(radix, x, y, m, s, twiddles);
}

// The stages of one length, and their twiddles. Forward; an inverse is a forward one with re and im exchanged.
template <class T>
class Stages {
 public:
  // Whether the length has no other factors than those of the stages.
  static bool fits(size_t n) {
    for (const size_t radix : {2, 3, 5})
      while (n % radix == 0) n /= radix;
    return n == 1;
  }

  explicit Stages(size_t n) : n_(n) {
    size_t s = 1;
    for (size_t rest = n; rest > 1; rest = stages_.back().m) {
      const size_t radix = rest % 4 == 0 ? 4 : rest % 2 == 0 ? 2 : rest % 3 == 0 ? 3 : 5;
      stages_.push_back({radix, rest / radix, s, twiddles_.size()});
      add_twiddles(stages_.back());
      s *= radix;
    }
  }

  // `work` has room for 4 n values.
  void run(const kernels::Dispatch& table, kernels::Halves2<const T> x, kernels::Halves2<T> y, T* work) const {
    if (stages_.empty()) {
      y.re[0] = x.re[0];
      y.im[0] = x.im[0];
      return;
    }
    kernels::Halves2<const T> from = x;
    for (size_t i = 0; i < stages_.size(); i++) {
      const Stage& stage = stages_[i];
      T* room = work + i % 2 * 2 * n_;
      const kernels::Halves2<T> to = i + 1 == stages_.size() ? y : kernels::Halves2<T>{room, room + n_};
      run_stage(table, stage.radix, from, to, stage.m, stage.s, twiddles_.data() + stage.twiddles);
      from = {to.re, to.im};
    }
  }

 private:
  struct Stage {
    size_t radix, m, s, twiddles;
  };

  // In the order that the stage reads (fft_stages.h).
  void add_twiddles(const Stage& stage) {
    const auto [radix, m, s, at] = stage;
    const size_t count = s < kernels::kShortStride ? m * s : m;
    twiddles_.resize(at + 2 * (radix - 1) * count);
    for (size_t i = 0; i < count; i++)
      for (size_t k = 1; k < radix; k++) {
        const size_t p = s < kernels::kShortStride ? i / s : i;
        const double angle = -2 * kPi * static_cast<double>(p * k) / static_cast<double>(radix * m);
        const bool is_short = s < kernels::kShortStride;
        T* re = twiddles_.data() + at + (is_short ? (k - 1) * count + i : 2 * (i * (radix - 1) + k - 1));
        re[0] = static_cast<T>(std::cos(angle));
        re[is_short ? (radix - 1) * count : 1] = static_cast<T>(std::sin(angle));
      }
  }

  size_t n_;
  std::vector<Stage> stages_;
  std::vector<T> twiddles_;
};

// A length with other factors: exp(-iπk²/n), with k² taken modulo 2n, stays exact.
class Chirp {
 public:
  explicit Chirp(size_t n) : n_(n), m_(power_above(2 * n - 1)), stages_(m_), turns_(2 * n), filter_(2 * m_, 0.0) {
    std::vector<double> chirp(2 * m_, 0.0);
    for (size_t k = 0; k < n; k++) {
      const double angle = kPi * static_cast<double>((k * k) % (2 * n)) / static_cast<double>(n);
      turns_[k] = std::cos(angle);
      turns_[n + k] = -std::sin(angle);
      for (const size_t at : {k, (m_ - k) % m_}) {
        chirp[at] = turns_[k];
        chirp[m_ + at] = -turns_[n + k];
      }
    }
    std::vector<double> work(4 * m_);
    // Plain loops need no table.
    stages_.run(*kernels::dispatch_for(kernels::Isa::scalar), {chirp.data(), chirp.data() + m_},
                {filter_.data(), filter_.data() + m_}, work.data());
  }

  size_t room() const { return 8 * m_; }

  template <class T>
  void run(const kernels::Dispatch& table, kernels::Halves2<const T> x, kernels::Halves2<T> y, double* work) const {
    double* re = work;
    double* im = work + m_;
    std::fill(work, work + 2 * m_, 0.0);
    for (size_t i = 0; i < n_; i++) multiply(x.re[i], x.im[i], turns_[i], turns_[n_ + i], re + i, im + i);
    double* made = work + 2 * m_;
    stages_.run(table, {re, im}, {made, made + m_}, work + 4 * m_);
    for (size_t i = 0; i < m_; i++)
      multiply(made[i], made[m_ + i], filter_[i], filter_[m_ + i], made + i, made + m_ + i);
    // Inverse: re and im exchanged, in and out.
    stages_.run(table, {made + m_, made}, {im, re}, work + 4 * m_);
    const double share = 1 / static_cast<double>(m_);
    for (size_t i = 0; i < n_; i++) {
      double to_re, to_im;
      multiply(re[i] * share, im[i] * share, turns_[i], turns_[n_ + i], &to_re, &to_im);
      y.re[i] = static_cast<T>(to_re);
      y.im[i] = static_cast<T>(to_im);
    }
  }

 private:
  static size_t power_above(size_t n) {
    size_t power = 1;
    while (power < n) power *= 2;
    return power;
  }
  static void multiply(double a, double b, double c, double d, double* re, double* im) {
    const double real = a * c - b * d;
    *im = a * d + b * c;
    *re = real;
  }

  size_t n_, m_;
  Stages<double> stages_;
  std::vector<double> turns_, filter_;
};

template <class T>
class Fft final : public Op {
 public:
  explicit Fft(const OpContext& context) : Op(context) {
    arity(1, 1, 1);
    if constexpr (std::is_same_v<T, float>) expect_type(c.in[0], DType::f32, "operand");
    expect_type(c.out[0], in(0).dtype, "result");
    inverse_ = c.params.flag("inverse");
    norm_ = c.params.integer("norm", 0, 0, 2);
  }
  void bind() override {
    expect(in(0).rank > 0 && in(0).last() % 2 == 0 && out().count == in(0).count,
           "the last dim is not a block of re and a block of im");
    const size_t n = in(0).last() / 2;
    expect(n > 0 && n <= (size_t{1} << 24), "the length is out of range");
    if (n != n_) {
      n_ = n;
      stages_.reset();
      chirp_.reset();
      if (Stages<T>::fits(n))
        stages_ = std::make_unique<Stages<T>>(n);
      else
        chirp_ = std::make_unique<Chirp>(n);
    }
    // backward scales the inverse by 1/n, forward the forward one, ortho both by 1/√n.
    scale_ = norm_ == 2                 ? 1 / std::sqrt(static_cast<double>(n_))
             : (norm_ == 0) == inverse_ ? 1 / static_cast<double>(n_)
                                        : 1;
    thread_bytes = stages_ ? 4 * n_ * sizeof(T) : chirp_->room() * sizeof(double);
  }
  size_t items(size_t) const override { return in(0).rows(); }
  void run(size_t, size_t row, Thread& thread) override {
    const T* x = in(0).template as<T>() + row * 2 * n_;
    T* y = out().template as<T>() + row * 2 * n_;
    const kernels::Halves2<const T> from =
        inverse_ ? kernels::Halves2<const T>{x + n_, x} : kernels::Halves2<const T>{x, x + n_};
    const kernels::Halves2<T> to = inverse_ ? kernels::Halves2<T>{y + n_, y} : kernels::Halves2<T>{y, y + n_};
    if (stages_)
      stages_->run(c.kernels, from, to, reinterpret_cast<T*>(thread.scratch));
    else
      chirp_->run(c.kernels, from, to, reinterpret_cast<double*>(thread.scratch));
    if (scale_ != 1)
      for (size_t i = 0; i < 2 * n_; i++) y[i] = static_cast<T>(y[i] * scale_);
  }

 private:
  bool inverse_;
  int64_t norm_;
  size_t n_ = 0;
  double scale_ = 1;
  std::unique_ptr<Stages<T>> stages_;
  std::unique_ptr<Chirp> chirp_;
};

constexpr KernelEntry kTable[] = {{"fft", make_real<Fft<float>, Fft<double>>}};

}  // namespace

std::span<const KernelEntry> fft_kernels() { return kTable; }

}  // namespace rlx
