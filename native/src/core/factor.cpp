#include "factor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace rlx::factor {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr int kMostSweeps = 60;

struct Name {
  const char* name;
  Routine routine;
};
constexpr Name kNames[] = {
    {"dense_solve", Routine::dense_solve},
    {"cholesky", Routine::cholesky},
    {"triangular_solve", Routine::triangular_solve},
    {"qr", Routine::qr},
    {"svd", Routine::svd},
    {"eigh", Routine::eigh},
    {"det", Routine::det},
    {"logdet", Routine::logdet},
};

bool all_finite(const double* x, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!std::isfinite(x[i])) return false;
  return true;
}

// x -= factor · y
void subtract(double* x, double factor, const double* y, size_t count) {
  for (size_t i = 0; i < count; i++) x[i] -= factor * y[i];
}

double product(const double* x, const double* y, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += x[i] * y[i];
  return sum;
}

// (x, y) ← (c x - s y, s x + c y)
void rotate(double* x, double* y, double c, double s, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const double a = x[i], b = y[i];
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}

void negate(double* x, size_t count, size_t stride) {
  for (size_t i = 0; i < count; i++) x[i * stride] = -x[i * stride];
}

// A power of two near the largest number, so that squares stay in range.
double scale_of(const double* x, size_t count) {
  double most = 0;
  for (size_t i = 0; i < count; i++) most = std::max(most, std::fabs(x[i]));
  if (most == 0) return 1;
  int exponent = 0;
  std::frexp(most, &exponent);
  return std::ldexp(1.0, std::clamp(exponent, -1000, 1000));
}

// The angle that makes `both` zero between the squares or diagonal elements p and q.
void angle(double p, double q, double both, double* c, double* s) {
  const double zeta = (q - p) / (2 * both);
  const double t = (zeta >= 0 ? 1 : -1) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
  *c = 1 / std::sqrt(1 + t * t);
  *s = *c * t;
}

// Gaussian elimination in place, the largest of a column as the pivot; rows of b follow. Gives the
// sign of the permutation, or 0 for a singular matrix.
double eliminate(const Problem& problem, double* a, double* b, size_t k) {
  const size_t n = problem.rows;
  double sign = 1;
  for (size_t p = 0; p < n && !problem.cancelled(); p++) {
    size_t best = p;
    for (size_t i = p + 1; i < n; i++)
      if (std::fabs(a[i * n + p]) > std::fabs(a[best * n + p])) best = i;
    if (a[best * n + p] == 0) return 0;
    if (best != p) {
      std::swap_ranges(a + p * n, a + p * n + n, a + best * n);
      std::swap_ranges(b + p * k, b + p * k + k, b + best * k);
      sign = -sign;
    }
    for (size_t i = p + 1; i < n; i++) {
      const double factor = a[i * n + p] / a[p * n + p];
      subtract(a + i * n + p + 1, factor, a + p * n + p + 1, n - p - 1);
      subtract(b + i * k, factor, b + p * k, k);
    }
  }
  return sign;
}

// t x = b for a triangle t [n, n], in place of b.
void substitute(const Problem& p, const double* t, double* b, bool lower, bool unit) {
  const size_t n = p.rows, k = p.right;
  for (size_t step = 0; step < n && !p.cancelled(); step++) {
    const size_t i = lower ? step : n - 1 - step;
    const size_t from = lower ? 0 : i + 1, to = lower ? i : n;
    for (size_t j = from; j < to; j++) subtract(b + i * k, t[i * n + j], b + j * k, k);
    if (!unit)
      for (size_t c = 0; c < k; c++) b[i * k + c] /= t[i * n + i];
  }
}

// Columns of b that are not finite have no answer.
void without_answer(const Problem& p, const double* b, double* x) {
  const size_t n = p.rows, k = p.right;
  for (size_t c = 0; c < k && !p.cancelled(); c++) {
    bool fine = true;
    for (size_t i = 0; i < n; i++) fine = fine && std::isfinite(b[i * k + c]);
    for (size_t i = 0; i < n && !fine; i++) x[i * k + c] = kNone;
  }
}

void dense_solve(const Problem& p, const double* a, const double* b, double* x, double* work) {
  const size_t n = p.rows, k = p.right;
  std::copy_n(a, n * n, work);
  std::copy_n(b, n * k, x);
  if (!all_finite(a, n * n) || eliminate(p, work, x, k) == 0) return void(std::fill_n(x, n * k, kNone));
  substitute(p, work, x, false, false);
  without_answer(p, b, x);
}

void triangular_solve(const Problem& p, const double* a, const double* b, double* x, double* work) {
  const size_t n = p.rows, k = p.right;
  std::fill_n(work, n * n, 0.0);
  bool fine = true;
  for (size_t i = 0; i < n; i++)
    for (size_t j = p.upper ? i : 0; j < (p.upper ? n : i + 1); j++) {
      if (i == j && p.unit) continue;
      const double value = a[i * n + j];
      fine = fine && std::isfinite(value) && (i != j || value != 0);
      work[p.transposed ? j * n + i : i * n + j] = value;
    }
  std::copy_n(b, n * k, x);
  if (!fine) return void(std::fill_n(x, n * k, kNone));
  substitute(p, work, x, p.upper == p.transposed, p.unit);
  without_answer(p, b, x);
}

// Reads the lower triangle, writes one and zeros above it.
void cholesky(const Problem& p, const double* a, double* l) {
  const size_t n = p.rows;
  bool fine = true;
  for (size_t i = 0; i < n; i++) {
    fine = fine && all_finite(a + i * n, i + 1);
    std::fill_n(l + i * n, n, 0.0);
  }
  for (size_t i = 0; i < n && fine && !p.cancelled(); i++)
    for (size_t j = 0; j <= i && fine; j++) {
      const double rest = a[i * n + j] - product(l + i * n, l + j * n, j);
      fine = i != j || rest > 0;
      l[i * n + j] = i == j ? std::sqrt(rest) : rest / l[j * n + j];
    }
  for (size_t i = 0; i < n && !fine; i++) std::fill_n(l + i * n, i + 1, kNone);
}

// x ← (1 - 2 v vᵀ / vᵀv) x for the rows of x; `sums` holds a number for each column.
void reflect(const double* v, size_t rows, double squares, double* x, size_t columns, size_t from, double* sums) {
  std::fill_n(sums, columns, 0.0);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = from; j < columns; j++) sums[j] += v[i] * x[i * columns + j];
  for (size_t i = 0; i < rows; i++) {
    const double factor = 2 * v[i] / squares;
    for (size_t j = from; j < columns; j++) x[i * columns + j] -= factor * sums[j];
  }
}

// Householder's reflections; the diagonal of R is made positive.
void qr(const Problem& p, const double* a, double* q, double* r, double* work) {
  const size_t m = p.rows, n = p.columns, least = p.shorter();
  if (!all_finite(a, m * n)) {
    std::fill_n(q, m * least, kNone);
    std::fill_n(r, least * n, kNone);
    return;
  }
  double *x = work, *vectors = x + m * n, *sums = vectors + least * m, *squares = sums + std::max(n, least);
  const double scale = scale_of(a, m * n);
  for (size_t i = 0; i < m * n; i++) x[i] = a[i] / scale;
  for (size_t k = 0; k < least && !p.cancelled(); k++) {
    double* v = vectors + k * m;
    double sum = 0;
    for (size_t i = k; i < m; i++) {
      v[i - k] = x[i * n + k];
      sum += v[i - k] * v[i - k];
    }
    const double size = std::sqrt(sum);
    v[0] += v[0] < 0 ? -size : size;
    squares[k] = product(v, v, m - k);
    if (squares[k] > 0) reflect(v, m - k, squares[k], x + k * n, n, k, sums);
  }
  if (p.cancelled()) return;
  std::fill_n(q, m * least, 0.0);
  for (size_t k = 0; k < least; k++) q[k * least + k] = 1;
  for (size_t k = least; k-- > 0 && !p.cancelled();)
    if (squares[k] > 0) reflect(vectors + k * m, m - k, squares[k], q + k * least, least, 0, sums);
  for (size_t k = 0; k < least; k++) {
    for (size_t j = 0; j < n; j++) r[k * n + j] = j < k ? 0 : x[k * n + j] * scale;
    if (!(r[k * n + k] < 0)) continue;
    negate(r + k * n + k, n - k, 1);
    negate(q + k, m, least);
  }
}

// Signs so that the largest number of a row of `first` is positive; rows of `second` go along.
void set_signs(double* first, size_t width, double* second, size_t other, size_t rows) {
  for (size_t i = 0; i < rows; i++) {
    double best = 0;
    for (size_t j = 0; j < width; j++)
      if (std::fabs(first[i * width + j]) > std::fabs(best)) best = first[i * width + j];
    if (!(best < 0)) continue;
    negate(first + i * width, width, 1);
    negate(second + i * other, other, 1);
  }
}

// A unit row that is orthogonal to the `count` rows before it.
void complete(const Problem& p, double* rows, size_t count, size_t width) {
  double* row = rows + count * width;
  for (size_t axis = 0; axis < width && !p.cancelled(); axis++) {
    std::fill_n(row, width, 0.0);
    row[axis] = 1;
    for (int again = 0; again < 2; again++)
      for (size_t i = 0; i < count; i++) subtract(row, product(row, rows + i * width, width), rows + i * width, width);
    const double size = product(row, row, width);
    if (size * 2 * static_cast<double>(width) < 1) continue;
    for (size_t i = 0; i < width; i++) row[i] /= std::sqrt(size);
    return;
  }
}

// One-sided Jacobi: rotations make the rows of w orthogonal, and turn those of v with them.
void orthogonalise(const Problem& problem, double* w, size_t width, double* v, size_t rows) {
  constexpr double kSmall = 0x1p-51;
  bool turned = true;
  for (int sweep = 0; sweep < kMostSweeps && turned; sweep++) {
    turned = false;
    for (size_t i = 0; i < rows; i++)
      for (size_t j = i + 1; j < rows; j++) {
        if (problem.cancelled()) return;
        double *x = w + i * width, *y = w + j * width;
        const double p = product(x, x, width), q = product(y, y, width), both = product(x, y, width);
        if (!(std::fabs(both) > kSmall * std::sqrt(p * q))) continue;
        double c, s;
        angle(p, q, both, &c, &s);
        rotate(x, y, c, s, width);
        rotate(v + i * rows, v + j * rows, c, s, rows);
        turned = true;
      }
  }
}

// Places of numbers in order; equals stay as they are. `order` is as long as `values`.
void order_of(const double* values, size_t count, bool largest_first, double* order) {
  for (size_t i = 0; i < count; i++) order[i] = static_cast<double>(i);
  std::sort(order, order + count, [&](double a, double b) {
    const double x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
    return x == y ? a < b : largest_first ? x > y : x < y;
  });
}

void svd(const Problem& p, const double* a, double* u, double* s, double* vt, double* work) {
  const size_t m = p.rows, n = p.columns, rows = p.shorter(), width = std::max(m, n);
  if (!all_finite(a, m * n)) {
    std::fill_n(u, m * rows, kNone);
    std::fill_n(s, rows, kNone);
    std::fill_n(vt, rows * n, kNone);
    return;
  }
  const bool tall = m >= n;
  double *w = work, *v = w + rows * width, *sizes = v + rows * rows, *order = sizes + rows;
  double *sorted_w = order + rows, *sorted_v = sorted_w + rows * width;
  const double scale = scale_of(a, m * n);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < width; j++) w[i * width + j] = (tall ? a[j * n + i] : a[i * n + j]) / scale;
  std::fill_n(v, rows * rows, 0.0);
  for (size_t i = 0; i < rows; i++) v[i * rows + i] = 1;
  orthogonalise(p, w, width, v, rows);
  if (p.cancelled()) return;
  for (size_t i = 0; i < rows; i++) sizes[i] = std::sqrt(product(w + i * width, w + i * width, width));
  order_of(sizes, rows, true, order);
  for (size_t i = 0; i < rows; i++) {
    const auto from = static_cast<size_t>(order[i]);
    s[i] = sizes[from] * scale;
    std::copy_n(v + from * rows, rows, sorted_v + i * rows);
    if (sizes[from] == 0)
      complete(p, sorted_w, i, width);
    else
      for (size_t j = 0; j < width; j++) sorted_w[i * width + j] = w[from * width + j] / sizes[from];
  }
  if (p.cancelled()) return;
  // Rows of U's transpose decide the signs.
  if (tall)
    set_signs(sorted_w, width, sorted_v, rows, rows);
  else
    set_signs(sorted_v, rows, sorted_w, width, rows);
  const double *left = tall ? sorted_w : sorted_v, *right = tall ? sorted_v : sorted_w;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < m; j++) u[j * rows + i] = left[i * m + j];
  std::copy_n(right, rows * n, vt);
}

// Jacobi's rotations of the lower triangle, until nothing is left beside the diagonal.
void eigh(const Problem& p, const double* a, double* values, double* vectors, double* work) {
  constexpr double kSmall = 0x1p-60;
  const size_t n = p.rows;
  bool fine = true;
  for (size_t i = 0; i < n; i++) fine = fine && all_finite(a + i * n, i + 1);
  if (!fine) {
    std::fill_n(values, n, kNone);
    std::fill_n(vectors, n * n, kNone);
    return;
  }
  double *x = work, *v = x + n * n, *diagonal = v + n * n, *order = diagonal + n, *sorted = order + n;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) x[i * n + j] = i < j ? a[j * n + i] : a[i * n + j];
  const double scale = scale_of(x, n * n);
  for (size_t i = 0; i < n * n; i++) x[i] /= scale;
  const double small = kSmall * std::sqrt(product(x, x, n * n));
  std::fill_n(v, n * n, 0.0);
  for (size_t i = 0; i < n; i++) v[i * n + i] = 1;
  bool turned = true;
  for (int sweep = 0; sweep < kMostSweeps && turned; sweep++) {
    turned = false;
    for (size_t i = 0; i < n; i++)
      for (size_t j = i + 1; j < n; j++) {
        if (!(std::fabs(x[i * n + j]) > small)) continue;
        if (p.cancelled()) return;
        double c, s;
        angle(x[i * n + i], x[j * n + j], x[i * n + j], &c, &s);
        rotate(x + i * n, x + j * n, c, s, n);
        for (size_t k = 0; k < n; k++) rotate(x + k * n + i, x + k * n + j, c, s, 1);
        x[i * n + j] = x[j * n + i] = 0;
        rotate(v + i * n, v + j * n, c, s, n);
        turned = true;
      }
  }
  if (p.cancelled()) return;
  for (size_t i = 0; i < n; i++) diagonal[i] = x[i * n + i];
  order_of(diagonal, n, false, order);
  for (size_t i = 0; i < n; i++) {
    const auto from = static_cast<size_t>(order[i]);
    values[i] = diagonal[from] * scale;
    std::copy_n(v + from * n, n, sorted + i * n);
  }
  set_signs(sorted, n, sorted, 0, n);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) vectors[j * n + i] = sorted[i * n + j];
}

// The product of the pivots, or its sign and the logarithm of its size.
void determinant(const Problem& p, const double* a, double* const* out, double* work) {
  const size_t n = p.rows;
  std::copy_n(a, n * n, work);
  const bool fine = all_finite(a, n * n);
  double sign = fine ? eliminate(p, work, work, 0) : kNone;
  double whole = sign, sum = sign == 0 ? -std::numeric_limits<double>::infinity() : sign - sign;
  for (size_t i = 0; i < n && fine && sign != 0; i++) {
    const double pivot = work[i * n + i];
    whole *= pivot;
    sign = pivot < 0 ? -sign : sign;
    sum += std::log(std::fabs(pivot));
  }
  out[0][0] = p.routine == Routine::det ? whole : sign;
  if (p.routine == Routine::logdet) out[1][0] = sum;
}

}  // namespace

bool find_routine(const char* name, Routine* out) {
  for (const Name& known : kNames)
    if (std::strcmp(known.name, name) == 0) {
      *out = known.routine;
      return true;
    }
  return false;
}

size_t Problem::outputs() const {
  switch (routine) {
    case Routine::svd: return 3;
    case Routine::qr:
    case Routine::eigh:
    case Routine::logdet: return 2;
    default: return 1;
  }
}

size_t Problem::output_size(size_t i) const {
  switch (routine) {
    case Routine::dense_solve:
    case Routine::triangular_solve: return rows * right;
    case Routine::cholesky: return rows * rows;
    case Routine::qr: return i == 0 ? rows * shorter() : shorter() * columns;
    case Routine::svd: return i == 0 ? rows * shorter() : i == 1 ? shorter() : shorter() * columns;
    case Routine::eigh: return i == 0 ? rows : rows * rows;
    default: return 1;
  }
}

size_t Problem::work_size() const {
  const size_t least = shorter(), most = std::max(rows, columns);
  switch (routine) {
    case Routine::cholesky: return 0;
    case Routine::qr: return rows * columns + least * rows + most + least;
    case Routine::svd: return 2 * least * (most + least) + 2 * least;
    case Routine::eigh: return 3 * rows * rows + 2 * rows;
    default: return rows * columns;
  }
}

void run(const Problem& p, const double* const* in, double* const* out, double* work) {
  switch (p.routine) {
    case Routine::dense_solve: return dense_solve(p, in[0], in[1], out[0], work);
    case Routine::triangular_solve: return triangular_solve(p, in[0], in[1], out[0], work);
    case Routine::cholesky: return cholesky(p, in[0], out[0]);
    case Routine::qr: return qr(p, in[0], out[0], out[1], work);
    case Routine::svd: return svd(p, in[0], out[0], out[1], out[2], work);
    case Routine::eigh: return eigh(p, in[0], out[0], out[1], work);
    case Routine::det:
    case Routine::logdet: return determinant(p, in[0], out, work);
  }
}

size_t whole_size(const Problem& p) {
  size_t size = p.work_size();
  for (size_t i = 0; i < p.inputs(); i++) size += p.input_size(i);
  for (size_t i = 0; i < p.outputs(); i++) size += p.output_size(i);
  return size;
}

template <class T>
void run_item(const Problem& p, const void* const* in, void* const* out, size_t item, double* work) {
  const double* given[2] = {};
  double* made[3] = {};
  for (size_t i = 0; i < p.inputs(); i++) {
    const size_t size = p.input_size(i);
    std::copy_n(static_cast<const T*>(in[i]) + item * size, size, work);
    given[i] = work;
    work += size;
  }
  for (size_t i = 0; i < p.outputs(); i++) {
    made[i] = work;
    work += p.output_size(i);
  }
  run(p, given, made, work);
  if (p.cancelled()) return;
  for (size_t i = 0; i < p.outputs(); i++) {
    const size_t size = p.output_size(i);
    T* to = static_cast<T*>(out[i]) + item * size;
    for (size_t k = 0; k < size; k++) to[k] = static_cast<T>(made[i][k]);
  }
}
template void run_item<float>(const Problem&, const void* const*, void* const*, size_t, double*);
template void run_item<double>(const Problem&, const void* const*, void* const*, size_t, double*);

}  // namespace rlx::factor
