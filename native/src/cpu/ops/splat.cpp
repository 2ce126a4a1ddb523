// The picture of Gaussian splats; main/ops/families/splat/scene.ts has the formulas. Splats are projected and sorted in f64;
// then an item is a tile of the picture, which finds its list and mixes its pixels in the operands' own type.
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "doubles.h"
#include "tables.h"

namespace rlx {
namespace {

using Vector = std::array<double, 3>;

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector minus(const Vector& a, const Vector& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Vector unit(const Vector& a) {
  const double length = std::sqrt(dot(a, a));
  return {a[0] / length, a[1] / length, a[2] / length};
}

constexpr double kPi = 3.14159265358979323846;
constexpr double kDilation = 0.3, kMargin = 1.3, kDeviations = 3, kMostAlpha = 0.99;
double term(double numerator, double denominator) { return std::sqrt(numerator / (denominator * kPi)); }

// Also where an odd angle makes the bound negative.
double within(double x, double most) { return std::min(std::max(x, -most), most); }

// Real spherical harmonics of degree 0 to 3 in a direction of length 1.
void harmonics(const Vector& direction, size_t count, double* y) {
  const auto [a, b, c] = direction;
  const double aa = a * a, bb = b * b, cc = c * c, around = 4 * cc - aa - bb;
  if (count > 0) y[0] = term(1, 4);
  if (count > 1) {
    y[1] = -term(3, 4) * b;
    y[2] = term(3, 4) * c;
    y[3] = -term(3, 4) * a;
  }
  if (count > 4) {
    y[4] = term(15, 4) * a * b;
    y[5] = -term(15, 4) * b * c;
    y[6] = term(5, 16) * (2 * cc - aa - bb);
    y[7] = -term(15, 4) * a * c;
    y[8] = term(15, 16) * (aa - bb);
  }
  if (count > 9) {
    y[9] = -term(35, 32) * b * (3 * aa - bb);
    y[10] = term(105, 4) * a * b * c;
    y[11] = -term(21, 32) * b * around;
    y[12] = term(7, 16) * c * (2 * cc - 3 * aa - 3 * bb);
    y[13] = -term(21, 32) * a * around;
    y[14] = term(105, 16) * c * (aa - bb);
    y[15] = -term(35, 32) * a * (aa - 3 * bb);
  }
}

struct View {
  Vector eye, right, down, forward;
  double near, far, focal, side, half;
};

// A splat on the picture. Where the distance is larger than `limit` its alpha is below the cutoff.
template <class T>
struct Flat {
  T u, v, a, b, c, limit, opacity, red, green, blue;
};

// What a tile has to know of a splat, from the nearest on: whether it is in the list, by its radius, and whether it can be
// seen in it at all, by how far to each side its alpha reaches the cutoff.
template <class T>
struct Reach {
  T u, v, radius, wide, high;
  uint32_t splat;
  bool meets(T x, T y, T size, T across, T down) const {
    return u + across > x && u - across < x + size && v + down > y && v - down < y + size;
  }
};

template <class T>
T shown(T c) {
  return c <= T(0.0031308) ? T(12.92) * c : T(1.055) * std::pow(c, T(1 / 2.4)) - T(0.055);
}

// (positions [N, 3], log scales [N, 3], rotations [N, 4], opacities [N], colours [N, 3], harmonics [N, C, 3], camera [15 or 23])
// → [height, width, 4]. Phases: each splat, their order, each tile.
template <class T>
class SplatRender final : public Op {
 public:
  static constexpr size_t kSplats = 512;

  explicit SplatRender(const OpContext& context) : Op(context) {
    arity(7, 7, 1);
    const DType type = std::is_same_v<T, double> ? DType::f64 : DType::f32;
    for (const Tensor* tensor : c.in) expect_type(tensor, type, "operand");
    expect_type(c.out[0], type, "result");
    const int64_t most = int64_t{1} << 14, any = int64_t{1} << 52;
    width_ = static_cast<size_t>(c.params.integer("width", 64, 1, most));
    height_ = static_cast<size_t>(c.params.integer("height", 64, 1, most));
    tile_ = static_cast<size_t>(c.params.integer("tileSize", 16, 1, most));
    steps_ = static_cast<size_t>(c.params.integer("maxSplatSteps", 32, 1, any));
    entries_ = static_cast<size_t>(c.params.integer("maxListEntries", 576, 1, any));
    reach_ = c.params.number("radiusScale", 1.6);
    cutoff_ = static_cast<T>(c.params.number("alphaCutoff", 1.0 / 255));
    least_ = static_cast<T>(c.params.number("transmittanceThreshold", 0.01));
  }
  void bind() override {
    count_ = in(3).count;
    coefficients_ = in(5).rank == 3 ? in(5).shape[1] : 0;
    expect(in(0).count == 3 * count_ && in(1).count == 3 * count_ && in(2).count == 4 * count_ &&
               in(4).count == 3 * count_ && in(5).count == 3 * coefficients_ * count_,
           "the operands are of another number of splats");
    expect(coefficients_ <= 16 && in(6).count >= 15, "the harmonics or the camera have another size");
    expect(out().count == width_ * height_ * 4, "the picture has another size");
    expect(count_ <= UINT32_MAX, "there are too many splats");
    across_ = ceil_div(width_, tile_);
    shared_bytes = count_ * (sizeof(double) + 2 * sizeof(Reach<T>) + sizeof(Flat<T>)) + 64;
    thread_bytes = std::min(count_, entries_) * sizeof(Flat<T>);
  }
  size_t phases() const override { return 3; }
  size_t items(size_t phase) const override {
    if (phase == 0) return ceil_div(count_, kSplats);
    return phase == 1 ? 1 : across_ * ceil_div(height_, tile_);
  }
  void run(size_t phase, size_t item, Thread& thread) override {
    if (phase == 0) {
      const View view = look();
      const size_t end = std::min(count_, (item + 1) * kSplats);
      for (size_t i = item * kSplats; i < end; i++) depths()[i] = flatten(view, i) ? depths()[i] : -1;
    } else if (phase == 1) {
      order();
    } else {
      draw(item, reinterpret_cast<Flat<T>*>(thread.scratch));
    }
  }

 private:
  double* depths() const { return reinterpret_cast<double*>(shared); }
  size_t& drawn() const { return *reinterpret_cast<size_t*>(depths() + count_); }
  Flat<T>* flats() const { return reinterpret_cast<Flat<T>*>(shared + count_ * sizeof(double) + 64); }
  Reach<T>* reaches() const { return reinterpret_cast<Reach<T>*>(flats() + count_); }
  // As the splats come.
  Reach<T>* found() const { return reaches() + count_; }

  Vector vector(size_t operand, size_t at) const {
    const T* x = in(operand).template as<T>() + at;
    return {x[0], x[1], x[2]};
  }
  double number(size_t operand, size_t at) const { return in(operand).template as<T>()[at]; }
  bool is_whole(size_t operand, size_t size, size_t splat) const {
    const T* x = in(operand).template as<T>() + splat * size;
    return std::all_of(x, x + size, [](T value) { return std::isfinite(value); });
  }

  View look() const {
    View view{};
    view.eye = vector(6, 0);
    view.forward = unit(minus(vector(6, 3), view.eye));
    view.right = unit(cross(view.forward, vector(6, 6)));
    view.down = cross(view.forward, view.right);
    view.half = std::tan(number(6, 9) / 2);
    view.side = view.half * static_cast<double>(width_) / static_cast<double>(height_);
    view.near = number(6, 10);
    view.far = number(6, 11);
    view.focal = static_cast<double>(height_) / 2 / view.half;
    return view;
  }

  // Projects one splat; false where it is not drawn.
  bool flatten(const View& view, size_t i) const {
    const Vector offset = minus(vector(0, 3 * i), view.eye);
    const double depth = dot(view.forward, offset);
    const double qx = number(2, 4 * i), qy = number(2, 4 * i + 1), qz = number(2, 4 * i + 2), qw = number(2, 4 * i + 3);
    const double length = std::sqrt(qx * qx + qy * qy + qz * qz + qw * qw);
    if (!(depth > view.near && depth > 0 && depth < view.far) || length == 0) return false;
    if (!is_whole(0, 3, i) || !is_whole(1, 3, i) || !is_whole(2, 4, i) || !is_whole(3, 1, i) || !is_whole(4, 3, i) ||
        !is_whole(5, 3 * coefficients_, i))
      return false;
    const double px = dot(view.right, offset) / depth, py = dot(view.down, offset) / depth;
    const double slope = view.focal / depth;
    const double sx = within(px, kMargin * view.side), sy = within(py, kMargin * view.half);
    const double x = qx / length, y = qy / length, z = qz / length, w = qw / length;
    const Vector columns[3] = {
        {1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
        {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
        {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)},
    };
    double a = kDilation, b = 0, c2 = kDilation;
    for (size_t k = 0; k < 3; k++) {
      const double stretch = std::exp(number(1, 3 * i + k)), away = dot(view.forward, columns[k]);
      const double du = stretch * slope * (dot(view.right, columns[k]) - sx * away);
      const double dv = stretch * slope * (dot(view.down, columns[k]) - sy * away);
      a += du * du;
      b += du * dv;
      c2 += dv * dv;
    }
    const double determinant = a * c2 - b * b, middle = (a + c2) / 2;
    const double longest = middle + std::sqrt(std::max(middle * middle - determinant, 0.0));
    double basis[16] = {}, colour[3];
    harmonics(unit(offset), coefficients_, basis);
    for (size_t channel = 0; channel < 3; channel++) {
      double sum = number(4, 3 * i + channel);
      for (size_t k = 0; k < coefficients_; k++) sum += basis[k] * number(5, (i * coefficients_ + k) * 3 + channel);
      colour[channel] = std::max(sum, 0.0);
    }
    const double opacity = 1 / (1 + std::exp(-number(3, i)));
    // A little more than the bound, so that rounding hides nothing; not a number where it cannot be seen.
    const double bound = 2 * std::log(opacity / static_cast<double>(cutoff_));
    const double limit = bound < -1e-3 ? std::nan("") : std::max(bound, 0.0) * 1.001 + 1e-3;
    const auto t = [](double value) { return static_cast<T>(value); };
    flats()[i] = {t(view.focal * px + static_cast<double>(width_) / 2),
                  t(view.focal * py + static_cast<double>(height_) / 2),
                  t(c2 / determinant),
                  t(-b / determinant),
                  t(a / determinant),
                  t(limit),
                  t(opacity),
                  t(colour[0]),
                  t(colour[1]),
                  t(colour[2])};
    found()[i] = {flats()[i].u,
                  flats()[i].v,
                  t(reach_ * kDeviations * std::sqrt(longest)),
                  t(std::sqrt(limit * a)),
                  t(std::sqrt(limit * c2)),
                  static_cast<uint32_t>(i)};
    depths()[i] = depth;
    return true;
  }

  // Those that are drawn from the nearest on; of equals the first first.
  void order() const {
    Reach<T>* to = reaches();
    for (size_t i = 0; i < count_; i++)
      if (depths()[i] > 0) *to++ = found()[i];
    std::sort(reaches(), to, [this](const Reach<T>& one, const Reach<T>& other) {
      const double a = depths()[one.splat], b = depths()[other.splat];
      return a < b || (a == b && one.splat < other.splat);
    });
    drawn() = static_cast<size_t>(to - reaches());
  }

  void draw(size_t item, Flat<T>* list) const {
    const size_t top = item / across_ * tile_, left = item % across_ * tile_;
    const T x0 = static_cast<T>(left), y0 = static_cast<T>(top), size = static_cast<T>(tile_);
    size_t entries = 0, listed = 0;
    for (size_t i = 0; i < drawn() && entries < entries_; i++) {
      const Reach<T>& r = reaches()[i];
      if (!r.meets(x0, y0, size, r.radius, r.radius)) continue;
      entries++;
      if (r.meets(x0, y0, size, r.wide, r.high)) list[listed++] = flats()[r.splat];
    }
    const T* ground = in(6).template as<T>() + 12;
    for (size_t row = top; row < std::min(height_, top + tile_); row++)
      for (size_t column = left; column < std::min(width_, left + tile_); column++)
        pixel(list, listed, static_cast<T>(column) + T(0.5), static_cast<T>(row) + T(0.5), ground,
              out().template as<T>() + (row * width_ + column) * 4);
  }

  void pixel(const Flat<T>* list, size_t listed, T x, T y, const T* ground, T* to) const {
    T red = 0, green = 0, blue = 0, clear = 1;
    size_t steps = 0;
    for (size_t i = 0; i < listed; i++) {
      const Flat<T>& flat = list[i];
      const T dx = flat.u - x, dy = flat.v - y;
      const T distance = flat.a * dx * dx + 2 * flat.b * dx * dy + flat.c * dy * dy;
      if (distance > flat.limit) continue;
      const T alpha = std::min(T(kMostAlpha), flat.opacity * std::exp(-distance / 2));
      // Not a number is passed over, too.
      if (!(alpha >= cutoff_)) continue;
      const T weight = alpha * clear;
      red += weight * flat.red;
      green += weight * flat.green;
      blue += weight * flat.blue;
      clear *= 1 - alpha;
      if (clear < least_ || ++steps >= steps_) break;
    }
    to[0] = shown(red + clear * ground[0]);
    to[1] = shown(green + clear * ground[1]);
    to[2] = shown(blue + clear * ground[2]);
    to[3] = 1 - clear;
  }

  size_t width_, height_, tile_, steps_, entries_, count_ = 0, coefficients_ = 0, across_ = 0;
  double reach_;
  T cutoff_, least_;
};

constexpr KernelEntry kTable[] = {
    {"splat_render", make_real<SplatRender<float>, SplatRender<double>>},
};

}  // namespace

std::span<const KernelEntry> splat_kernels() { return kTable; }

}  // namespace rlx
