// Convolutions and their transposes. With enough filters both are products of the weight with
// columns of the image, tile by tile: a convolution gathers the columns first, its transpose
// scatters them afterwards. With few, rows are joined tap by tap. In f64 they are plain loops
// (convolution_shapes.h).
#include "convolution_shapes.h"
#include "doubles.h"
#include "tables.h"

namespace rlx {
namespace {

using kernels::Binary;

// Columns of one product.
constexpr size_t kTile = 64;
// With fewer filters in a group a product would be mostly padding, unless its sums are long.
constexpr size_t kShortSum = 64;
// Sums below this are not worth a product in the transpose.
constexpr size_t kFewChannels = 8;
// Rows of one product in the transpose.
constexpr size_t kBlockRows = 48;

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

// The product of prepared weight rows with columns.
class ConvolutionBase : public ConvolutionShapes {
 public:
  ConvolutionBase(const OpContext& context, bool transposed) : ConvolutionShapes(context, transposed, DType::f32) {}

 protected:
  float* room(Thread& thread, size_t offset = 0) const { return reinterpret_cast<float*>(thread.scratch + offset); }

  // y[row][column] = prepared row · columns[column], over k.
  void multiply(const uint8_t* prepared, size_t rows, const float* columns, size_t count, size_t k, float* y,
                size_t ldy, uint8_t* scratch) const {
    kernels::MatmulArgs args{};
    args.type = kernels::Type::f32;
    args.w = columns;
    args.row_bytes = k * sizeof(float);
    args.k = k;
    args.n1 = count;
    args.act = prepared;
    args.tokens = args.t1 = rows;
    args.y = y;
    args.ldy = ldy;
    c.kernels.matmul(args, scratch);
  }
  void prepare(const float* rows, size_t count, size_t k, uint8_t* prepared) const {
    c.kernels.prepare({kernels::ActKind::f32, rows, k, k, count, 0, count, 0, kernels::chunks_of(k), prepared});
  }
  // y += weight * x; `temp` holds as many.
  void add_times(float weight, const float* x, float* y, size_t count, float* temp) const {
    c.kernels.binary(Binary::mul, x, 1, &weight, 0, temp, count);
    c.kernels.binary(Binary::add, y, 1, temp, 1, y, count);
  }
};

class Convolution final : public ConvolutionBase {
 public:
  explicit Convolution(const OpContext& context) : ConvolutionBase(context, false) {}

  void bind() override {
    ConvolutionBase::bind();
    sum_ = large_ * w_.taps();
    direct_ = small_ < kernels::kGemmLeastTokens && sum_ <= kShortSum;
    if (direct_) {
      rows_ = batch_ * groups_ * small_ * w_.rows.windows;
      grain_ = std::max<size_t>(1, kGrain / std::max<size_t>(1, w_.columns.windows * sum_));
      thread_bytes = (w_.columns.windows + StridedRow::floats(w_.columns)) * sizeof(float);
      return;
    }
    tiles_ = ceil_div(w_.windows(), kTile);
    act_bytes_ = rounded(c.kernels.act_bytes(kernels::ActKind::f32, sum_, small_));
    shared_bytes = act_bytes_ * groups_;
    scratch_at_ = rounded(kTile * sum_ * sizeof(float));
    thread_bytes = scratch_at_ + rounded(kernels::matmul_scratch_bytes(small_));
  }

  size_t phases() const override { return 2; }
  size_t items(size_t phase) const override {
    if (out().count == 0) return 0;
    if (phase == 0) return direct_ ? 0 : groups_;
    return direct_ ? ceil_div(rows_, grain_) : batch_ * groups_ * tiles_;
  }

  void run(size_t phase, size_t item, Thread& thread) override {
    if (phase == 0) return prepare(in(1).f32() + item * small_ * sum_, small_, sum_, shared + item * act_bytes_);
    if (direct_) {
      for (size_t row = item * grain_; row < std::min(rows_, (item + 1) * grain_); row++) add_row(row, thread);
      return;
    }
    const size_t image = item / tiles_, group = image % groups_;
    const size_t begin = item % tiles_ * kTile, end = std::min(w_.windows(), begin + kTile);
    for (size_t window = begin; window < end; window++)
      gather(in(0).f32() + image * large_ * w_.plane(), window, room(thread) + (window - begin) * sum_);
    multiply(shared + group * act_bytes_, small_, room(thread), end - begin, sum_,
             out().f32() + image * small_ * w_.windows() + begin, w_.windows(), thread.scratch + scratch_at_);
  }

 private:
  // What a window sees of a group's channels, in the order of the weight.
  void gather(const float* x, size_t window, float* to) const {
    const size_t row = window / w_.columns.windows, column = window % w_.columns.windows;
    for (size_t channel = 0; channel < large_; channel++, x += w_.plane())
      for (size_t tap = 0; tap < w_.rows.taps; tap++, to += w_.columns.taps) {
        size_t at;
        if (w_.rows.place(row, tap, &at))
          gather_run(x + at * w_.columns.size, column, to);
        else
          std::memset(to, 0, w_.columns.taps * sizeof(float));
      }
  }
  void gather_run(const float* row, size_t column, float* to) const {
    const Axis& axis = w_.columns;
    const int64_t first = static_cast<int64_t>(column * axis.stride) + axis.offset(0);
    if (first >= 0 && static_cast<size_t>(first) + (axis.taps - 1) * axis.dilation < axis.size) {
      for (size_t tap = 0; tap < axis.taps; tap++) to[tap] = row[static_cast<size_t>(first) + tap * axis.dilation];
      return;
    }
    for (size_t tap = 0; tap < axis.taps; tap++) {
      size_t at;
      to[tap] = axis.place(column, tap, &at) ? row[at] : 0;
    }
  }

  // One row of the result: every tap adds a run of a row of the image.
  void add_row(size_t index, Thread& thread) const {
    const size_t plane = index / w_.rows.windows, window = index % w_.rows.windows;
    const size_t filter = plane % (groups_ * small_), image = plane / (groups_ * small_);
    float* y = out().f32() + index * w_.columns.windows;
    const float* weight = in(1).f32() + filter * sum_;
    const float* x = in(0).f32() + (image * groups_ + filter / small_) * large_ * w_.plane();
    std::memset(y, 0, w_.columns.windows * sizeof(float));
    for (size_t channel = 0; channel < large_; channel++, x += w_.plane())
      for (size_t tap = 0; tap < w_.rows.taps; tap++, weight += w_.columns.taps) {
        size_t at;
        if (!w_.rows.place(window, tap, &at)) continue;
        const StridedRow row(w_.columns, x + at * w_.columns.size, room(thread) + w_.columns.windows);
        for (size_t t = 0; t < w_.columns.taps; t++) {
          size_t first, last;
          w_.columns.inside(t, &first, &last);
          if (first < last) add_times(weight[t], row.tap(t, first), y + first, last - first, room(thread));
        }
      }
  }

  bool direct_ = false;
  size_t sum_ = 0, rows_ = 0, grain_ = 1, tiles_ = 0, act_bytes_ = 0, scratch_at_ = 0;
};

class TransposedConvolution final : public ConvolutionBase {
 public:
  explicit TransposedConvolution(const OpContext& context) : ConvolutionBase(context, true) {}

  void bind() override {
    ConvolutionBase::bind();
    direct_ = small_ < kFewChannels;
    if (direct_) {
      thread_bytes = w_.columns.windows * sizeof(float);
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
    if (!w_.rows.place(row, tap / w_.columns.taps, &at)) return;
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
    const size_t image = index / large_, filter = index % large_, taps = w_.taps();
    float* y = out().f32() + index * w_.plane();
    std::memset(y, 0, w_.plane() * sizeof(float));
    const float* x = in(0).f32() + image * small_ * w_.windows();
    for (size_t channel = 0; channel < small_; channel++) {
      const float* weight = in(1).f32() + ((image % groups_ * small_ + channel) * large_ + filter) * taps;
      for (size_t row = 0; row < w_.rows.windows; row++, x += w_.columns.windows)
        for (size_t tap = 0; tap < taps; tap++) {
          c.kernels.binary(Binary::mul, x, 1, weight + tap, 0, room(thread), w_.columns.windows);
          scatter_run(room(thread), tap, row, 0, w_.columns.windows, y);
        }
    }
  }

  bool direct_ = false;
  size_t block_ = 0, blocks_ = 0, tiles_ = 0, act_bytes_ = 0, columns_at_ = 0, scratch_at_ = 0;
};

// Packed products for images in f32; volumes go tap by tap.
template <class Image, template <class> class Plain>
std::unique_ptr<Op> make_convolution(const OpContext& context) {
  return is_volume(context.params) ? make_real<Plain<float>, Plain<double>>(context)
                                   : make_real<Image, Plain<double>>(context);
}

constexpr KernelEntry kTable[] = {
    {"conv", make_convolution<Convolution, PlainConvolution>},
    {"conv_transpose", make_convolution<TransposedConvolution, PlainTransposedConvolution>},
};

}  // namespace

std::span<const KernelEntry> convolution_kernels() { return kTable; }

}  // namespace rlx
