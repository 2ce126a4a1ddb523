// Convolutions and their transposes. With enough filters both are products of the weight with
// windows of the image, tile by tile: a convolution gathers the windows first, its transpose
// scatters them afterwards. With few, rows are joined tap by tap. With few windows it is another
// product (convolution_few.h). In f64 they are plain loops (convolution_shapes.h).
#include "convolution_few.h"
#include "doubles.h"
#include "tables.h"

namespace rlx {
namespace {

// Columns of one product.
constexpr size_t kTile = 64;
// With fewer filters in a group a product would be mostly padding, unless its sums are long.
constexpr size_t kShortSum = 64;
// Sums below this are not worth a product in the transpose.
constexpr size_t kFewChannels = 8;
// Rows of one product in the transpose.
constexpr size_t kBlockRows = 48;

class Convolution final : public ConvolutionOfFewWindows {
 public:
  using ConvolutionOfFewWindows::ConvolutionOfFewWindows;

  void bind() override {
    ConvolutionBase::bind();
    few_ = has_few_windows();
    if (few_) return bind_few();
    sum_ = large_ * w_.taps();
    direct_ = small_ < kernels::kGemmLeastTokens && sum_ <= kShortSum;
    if (direct_) {
      rows_ = batch_ * groups_ * small_ * w_.window_rows();
      grain_ = std::max<size_t>(1, kGrain / std::max<size_t>(1, w_.columns.windows * sum_));
      thread_bytes = StridedRow::floats(w_.columns) * sizeof(float);
      return;
    }
    tiles_ = ceil_div(w_.windows(), kWindows);
    // One tap in place: what the windows see is the image itself.
    in_place_ = w_.taps() == 1 && w_.windows() == w_.plane();
    scratch_at_ = in_place_ ? 0 : rounded(kWindows * std::min(sum_, kDeep) * sizeof(float));
    thread_bytes = scratch_at_ + kernels::kGemmScratchBytes;
  }

  size_t phases() const override { return few_ ? 2 : 1; }
  size_t items(size_t phase) const override {
    if (out().count == 0) return 0;
    if (few_) return few_items(phase);
    return direct_ ? ceil_div(rows_, grain_) : batch_ * groups_ * tiles_;
  }

  void run(size_t phase, size_t item, Thread& thread) override {
    if (few_) return run_few(phase, item, thread);
    if (direct_) {
      for (size_t row = item * grain_; row < std::min(rows_, (item + 1) * grain_); row++) add_row(row, thread);
      return;
    }
    const size_t image = item / tiles_, group = image % groups_;
    const size_t begin = item % tiles_ * kWindows, count = std::min(w_.windows() - begin, kWindows);
    const float* x = in(0).f32() + image * large_ * w_.plane();
    kernels::GemmArgs args{};
    args.lda = sum_;
    args.rows = small_;
    args.b = room(thread);
    args.ldb = kWindows;
    args.columns = count;
    args.y = out().f32() + image * small_ * w_.windows() + begin;
    args.ldy = w_.windows();
    if (in_place_) {
      args.a = in(1).f32() + group * small_ * sum_;
      args.k = sum_;
      args.b = x + begin;
      args.ldb = w_.plane();
      return c.kernels.gemm(args, thread.scratch);
    }
    // Without channels once, for the zeros.
    for (size_t k0 = 0; k0 == 0 || k0 < sum_; k0 += kDeep) {
      args.a = in(1).f32() + group * small_ * sum_ + k0;
      args.k = std::min(sum_ - k0, kDeep);
      args.adds = k0 > 0;
      gather(x, k0, args.k, begin, count, room(thread));
      c.kernels.gemm(args, thread.scratch + scratch_at_);
    }
  }

 private:
  // Windows of one product, and how many of their values are gathered at a time: both fit into the second cache.
  static constexpr size_t kWindows = 128, kDeep = 512;

  // Values k0 .. k0 + count of the windows from `begin` on, in the order of the weight: a line of windows for each.
  void gather(const float* x, size_t k0, size_t values, size_t begin, size_t count, float* to) const {
    for (size_t k = k0; k < k0 + values; k++, to += kWindows) {
      const size_t channel = k / w_.taps(), tap = k % w_.taps();
      const float* plane = x + channel * w_.plane();
      for (size_t done = 0; done < count;) {
        const size_t window = begin + done, row = window / w_.columns.windows, column = window % w_.columns.windows;
        const size_t n = std::min(w_.columns.windows - column, count - done);
        size_t at;
        if (w_.row(row, tap / w_.columns.taps, &at))
          gather_run(plane + at * w_.columns.size, tap % w_.columns.taps, column, n, to + done);
        else
          std::memset(to + done, 0, n * sizeof(float));
        done += n;
      }
    }
  }

  // What one tap of the windows first .. first + n of a row sees.
  void gather_run(const float* row, size_t tap, size_t first, size_t n, float* to) const {
    size_t from, until;
    w_.columns.inside(tap, &from, &until);
    from = std::min(std::max(from, first), first + n);
    until = std::max(from, std::min(until, first + n));
    std::memset(to, 0, (from - first) * sizeof(float));
    std::memset(to + (until - first), 0, (first + n - until) * sizeof(float));
    if (from == until) return;
    const size_t stride = w_.columns.stride;
    const float* seen = row + (static_cast<int64_t>(from * stride) + w_.columns.offset(tap));
    if (stride == 1) return void(std::memcpy(to + (from - first), seen, (until - from) * sizeof(float)));
    for (size_t i = from; i < until; i++, seen += stride) to[i - first] = *seen;
  }

  // One row of the result: every tap adds a run of a row of the image.
  void add_row(size_t index, Thread& thread) const {
    const size_t plane = index / w_.window_rows(), window = index % w_.window_rows();
    const size_t filter = plane % (groups_ * small_), image = plane / (groups_ * small_);
    float* y = out().f32() + index * w_.columns.windows;
    const float* weight = in(1).f32() + filter * sum_;
    const float* x = in(0).f32() + (image * groups_ + filter / small_) * large_ * w_.plane();
    std::memset(y, 0, w_.columns.windows * sizeof(float));
    for (size_t channel = 0; channel < large_; channel++, x += w_.plane())
      for (size_t tap = 0; tap < w_.tap_rows(); tap++, weight += w_.columns.taps) {
        size_t at;
        if (!w_.row(window, tap, &at)) continue;
        const StridedRow row(w_.columns, x + at * w_.columns.size, room(thread));
        for (size_t t = 0; t < w_.columns.taps; t++) {
          size_t first, last;
          w_.columns.inside(t, &first, &last);
          if (first < last) c.kernels.add_scaled(weight[t], row.tap(t, first), y + first, last - first);
        }
      }
  }

  bool few_ = false, direct_ = false, in_place_ = false;
  size_t sum_ = 0, rows_ = 0, grain_ = 1, tiles_ = 0, scratch_at_ = 0;
};

class TransposedConvolution final : public ConvolutionBase {
 public:
  explicit TransposedConvolution(const OpContext& context) : ConvolutionBase(context, true) {}

  void bind() override {
    ConvolutionBase::bind();
    direct_ = small_ < kFewChannels;
    if (direct_) {
      // Rows as their stride sees them (windows.h): what neighbouring windows add is one run.
      phases_ = std::min(w_.columns.stride, w_.columns.size);
      span_ = ceil_div(w_.columns.size, w_.columns.stride);
      thread_bytes = phases_ <= 1 ? 0 : w_.depth.size * w_.rows.size * phases_ * span_ * sizeof(float);
      return;
    }
    block_ = std::min(large_, ceil_div(kBlockRows, w_.taps()));
    blocks_ = block_ == 0 ? 0 : ceil_div(large_, block_);
    const size_t rows = block_ * w_.taps();
    act_bytes_ = rounded(c.kernels.act_bytes(kernels::ActKind::f32, small_, rows));
    columns_at_ = act_bytes_ * groups_ * blocks_;
    shared_bytes = columns_at_ + rounded(in(0).bytes);
    scratch_at_ = rounded(rows * kTile * sizeof(float));
    thread_bytes =
        std::max(rounded(rows * small_ * sizeof(float)), scratch_at_ + rounded(kernels::matmul_scratch_bytes(rows)));
    tiles_ = ceil_div(w_.windows(), kTile);
  }

  size_t phases() const override { return 2; }
  size_t items(size_t phase) const override {
    if (out().count == 0) return 0;
    if (direct_) return phase == 0 ? 0 : batch_ * groups_ * large_;
    return phase == 0 ? groups_ * blocks_ + batch_ * groups_ * tiles_ : batch_ * groups_ * blocks_;
  }

  void run(size_t phase, size_t item, Thread& thread) override {
    if (direct_) return add_plane(item, thread);
    if (phase == 0) return item < groups_ * blocks_ ? prepare_block(item, thread) : turn(item - groups_ * blocks_);
    const size_t image = item / blocks_, block = item % blocks_;
    const size_t first = block * block_, filters = std::min(large_ - first, block_);
    float* y = out().f32() + (image * large_ + first) * w_.plane();
    std::memset(y, 0, filters * w_.plane() * sizeof(float));
    const uint8_t* prepared = shared + (image % groups_ * blocks_ + block) * act_bytes_;
    for (size_t begin = 0; begin < w_.windows(); begin += kTile) {
      const size_t end = std::min(w_.windows(), begin + kTile);
      multiply(prepared, filters * w_.taps(), columns() + (image * w_.windows() + begin) * small_, end - begin, small_,
               room(thread), kTile, thread.scratch + scratch_at_);
      for (size_t filter = 0; filter < filters; filter++)
        scatter(room(thread) + filter * w_.taps() * kTile, begin, end, y + filter * w_.plane());
    }
  }

 private:
  float* columns() const { return reinterpret_cast<float*>(shared + columns_at_); }

  // The weight [channel][filter][tap] of some filters as rows [filter][tap] over channels.
  void prepare_block(size_t item, Thread& thread) const {
    const size_t group = item / blocks_, first = item % blocks_ * block_;
    const size_t rows = std::min(large_ - first, block_) * w_.taps(), width = large_ * w_.taps();
    const float* weight = in(1).f32() + group * small_ * width + first * w_.taps();
    for (size_t channel = 0; channel < small_; channel++)
      for (size_t row = 0; row < rows; row++) room(thread)[row * small_ + channel] = weight[channel * width + row];
    prepare(room(thread), rows, small_, shared + item * act_bytes_);
  }

  // A tile of the image [channel][place] as [place][channel].
  void turn(size_t item) const {
    const size_t image = item / tiles_, begin = item % tiles_ * kTile, end = std::min(w_.windows(), begin + kTile);
    const float* x = in(0).f32() + image * small_ * w_.windows();
    float* to = columns() + image * w_.windows() * small_;
    for (size_t channel = 0; channel < small_; channel++)
      for (size_t place = begin; place < end; place++) to[place * small_ + channel] = x[channel * w_.windows() + place];
  }

  // Adds columns [tap][place - begin] of the places [begin, end) to the plane.
  void scatter(const float* values, size_t begin, size_t end, float* plane) const {
    for (size_t tap = 0; tap < w_.taps(); tap++, values += kTile)
      for (size_t place = begin; place < end;) {
        const size_t row = place / w_.columns.windows, column = place % w_.columns.windows;
        const size_t stop = std::min(w_.columns.windows, column + end - place);
        scatter_run(values + (place - begin), tap, row, column, stop, plane);
        place += stop - column;
      }
  }
  // values[i] belongs to column first + i of a row.
  void scatter_run(const float* values, size_t tap, size_t row, size_t first, size_t stop, float* plane) const {
    size_t at, from, to;
    if (!w_.row(row, tap / w_.columns.taps, &at)) return;
    const size_t t = tap % w_.columns.taps;
    w_.columns.inside(t, &from, &to);
    from = std::max(from, first);
    to = std::min(to, stop);
    float* line = plane + at * w_.columns.size;
    for (size_t i = from; i < to; i++) {
      const int64_t position = static_cast<int64_t>(i * w_.columns.stride) + w_.columns.offset(t);
      line[position] += values[i - first];
    }
  }

  // One plane of the result, from all channels of its group.
  void add_plane(size_t index, Thread& thread) const {
    const size_t image = index / large_, filter = index % large_, rows = w_.depth.size * w_.rows.size;
    float* y = out().f32() + index * w_.plane();
    float* sums = phases_ <= 1 ? y : room(thread);
    std::memset(sums, 0, rows * phases_ * span_ * sizeof(float));
    const float* x = in(0).f32() + image * small_ * w_.windows();
    for (size_t channel = 0; channel < small_; channel++) {
      const float* weight = in(1).f32() + ((image % groups_ * small_ + channel) * large_ + filter) * w_.taps();
      for (size_t row = 0; row < w_.window_rows(); row++, x += w_.columns.windows)
        for (size_t tap = 0; tap < w_.tap_rows(); tap++) {
          size_t at;
          if (w_.row(row, tap, &at)) add_taps(weight + tap * w_.columns.taps, x, sums + at * phases_ * span_);
        }
    }
    for (size_t row = 0; row < rows && phases_ > 1; row++, y += w_.columns.size)
      for (size_t i = 0; i < w_.columns.size; i++) y[i] = sums[(row * phases_ + i % phases_) * span_ + i / phases_];
  }
  // Adds what a row of windows gives through a row of taps.
  void add_taps(const float* weight, const float* x, float* line) const {
    const Axis& axis = w_.columns;
    for (size_t tap = 0; tap < axis.taps; tap++) {
      size_t from, to;
      axis.inside(tap, &from, &to);
      if (from == to) continue;
      const auto place = static_cast<size_t>(static_cast<int64_t>(from * axis.stride) + axis.offset(tap));
      c.kernels.add_scaled(weight[tap], x + from, line + place % axis.stride * span_ + place / axis.stride, to - from);
    }
  }

  bool direct_ = false;
  size_t phases_ = 1, span_ = 0, block_ = 0, blocks_ = 0, tiles_ = 0, act_bytes_ = 0, columns_at_ = 0, scratch_at_ = 0;
};

constexpr KernelEntry kTable[] = {
    {"conv", make_real<Convolution, PlainConvolution<double>>},
    {"conv_transpose", make_real<TransposedConvolution, PlainTransposedConvolution<double>>},
};

}  // namespace

std::span<const KernelEntry> convolution_kernels() { return kTable; }

}  // namespace rlx
