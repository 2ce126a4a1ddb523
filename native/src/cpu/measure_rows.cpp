#include "measure_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../core/error.h"

namespace rlx {
namespace {

using namespace kernels;

// Values of a step, which one thread measures: small enough for the second cache.
constexpr size_t kStep = size_t{1} << 14;
// Sums that go on beside each other, so that the compiler takes vectors without changing an order.
constexpr size_t kLanes = 16;

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
bool is_finite(float x) { return (bits_of(x) & 0x7f800000u) != 0x7f800000u; }

struct Step {
  MeasuredRows sums;
  float min = INFINITY, max = -INFINITY;
};

struct Work {
  const Dispatch& table;
  const RowsToMeasure& rows;
  size_t count, step;  // rows, and rows of a step
  MeasuredRows& result;
  std::vector<Step>& steps;
  std::vector<std::vector<float>>& buffers;  // two rows, for each thread
  const std::atomic<bool>& cancel;
  std::atomic<size_t> next = 0;
};

struct RowSums {
  double count = 0, sum = 0, spread = 0;
  float min = INFINITY, max = -INFINITY;
  double zeros = 0;
};

bool all_finite(const float* x, size_t n) {
  uint32_t found[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (size_t l = 0; l < kLanes; l++) found[l] |= (bits_of(x[i + l]) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
  uint32_t any = 0;
  for (size_t l = 0; l < kLanes; l++) any |= found[l];
  for (; i < n; i++) any |= is_finite(x[i]) ? 0u : 1u;
  return any == 0;
}

// Only of rows whose values are all finite.
RowSums sums_of(const float* x, size_t n) {
  double sum[kLanes] = {};
  float low[kLanes], high[kLanes];
  uint32_t zeros[kLanes] = {};
  std::fill_n(low, kLanes, INFINITY);
  std::fill_n(high, kLanes, -INFINITY);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (size_t l = 0; l < kLanes; l++) {
      const float v = x[i + l];
      sum[l] += static_cast<double>(v);
      low[l] = v < low[l] ? v : low[l];
      high[l] = v > high[l] ? v : high[l];
      zeros[l] += v == 0.0f ? 1u : 0u;
    }
  RowSums row;
  for (size_t l = 0; l < kLanes; l++) {
    row.sum += sum[l];
    row.zeros += zeros[l];
    row.min = std::min(row.min, low[l]);
    row.max = std::max(row.max, high[l]);
  }
  for (; i < n; i++) {
    row.sum += static_cast<double>(x[i]);
    row.zeros += x[i] == 0.0f ? 1 : 0;
    row.min = std::min(row.min, x[i]);
    row.max = std::max(row.max, x[i]);
  }
  row.count = static_cast<double>(n);
  const double mean = row.sum / row.count;
  double spread[kLanes] = {};
  for (i = 0; i + kLanes <= n; i += kLanes)
    for (size_t l = 0; l < kLanes; l++) {
      const double apart = static_cast<double>(x[i + l]) - mean;
      spread[l] += apart * apart;
    }
  for (size_t l = 0; l < kLanes; l++) row.spread += spread[l];
  for (; i < n; i++) row.spread += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
  return row;
}

// Moves the finite values of a row together, so that the sums see them alone.
size_t keep_finite(const float* x, size_t n, float* kept, size_t at, MeasuredRows& all) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    if (is_finite(x[i])) {
      kept[count++] = x[i];
      continue;
    }
    if (all.first_not_finite < 0) all.first_not_finite = static_cast<double>(at + i);
    (std::isnan(x[i]) ? all.nans : all.infinities) += 1;
  }
  return count;
}

// Joins means and sums of squared distances of two sets of values.
void join(MeasuredRows& all, double count, double mean, double spread) {
  if (count == 0) return;
  const double sum = all.count + count, apart = mean - all.mean;
  all.spread += spread + apart * apart * all.count * count / sum;
  all.mean += apart * count / sum;
  all.count = sum;
}

double largest_of(const float* x, size_t n, size_t at, float least) {
  for (size_t i = 0; i < n; i++)
    if (is_finite(x[i]) && std::fabs(x[i]) == least) return static_cast<double>(at + i);
  return -1;
}

// error / energy is larger, without a division by an energy of zero; a row of zeros that is one in
// both files has no error.
void keep_worse(RowDistance& all, double row, double error, double energy) {
  const bool worse = all.worst_error == 0 ? error > 0 : error * all.worst_energy > all.worst_error * energy;
  if (all.worst_row >= 0 && !worse) return;
  all.worst_row = row;
  all.worst_error = error;
  all.worst_energy = energy;
}

// The first of equal ones counts.
void keep_farther(RowDistance& all, double distance, double at) {
  if (at < 0 || (all.farthest_at >= 0 && distance <= all.farthest)) return;
  all.farthest = distance;
  all.farthest_at = at;
}

double apart(float x, float y) { return std::fabs(static_cast<double>(x) - static_cast<double>(y)); }

// Where two values that are finite are so far apart.
double place_of_distance(const float* x, const float* y, size_t n, double distance) {
  for (size_t i = 0; i < n; i++)
    if (is_finite(x[i]) && is_finite(y[i]) && apart(x[i], y[i]) == distance) return static_cast<double>(i);
  return -1;
}

void distance_of(const float* x, const float* y, size_t n, size_t row, RowDistance& all) {
  double error[kLanes] = {}, energy[kLanes] = {}, product[kLanes] = {}, own[kLanes] = {}, most[kLanes] = {};
  size_t compared = 0;
  const auto add = [&](size_t l, float a, float b) {
    const double p = static_cast<double>(a), q = static_cast<double>(b), rest = p - q;
    error[l] += rest * rest;
    energy[l] += q * q;
    product[l] += p * q;
    own[l] += p * p;
    most[l] = std::max(most[l], std::fabs(rest));
  };
  if (all_finite(x, n) && all_finite(y, n)) {
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (size_t l = 0; l < kLanes; l++) add(l, x[i + l], y[i + l]);
    for (; i < n; i++) add(0, x[i], y[i]);
    compared = n;
  } else {
    for (size_t i = 0; i < n; i++)
      if (is_finite(x[i]) && is_finite(y[i])) {
        add(0, x[i], y[i]);
        compared++;
      }
  }
  if (compared == 0) return;
  RowDistance own_sums;
  for (size_t l = 0; l < kLanes; l++) {
    own_sums.error += error[l];
    own_sums.energy += energy[l];
    own_sums.product += product[l];
    own_sums.own += own[l];
    own_sums.farthest = std::max(own_sums.farthest, most[l]);
  }
  all.compared += static_cast<double>(compared);
  all.error += own_sums.error;
  all.energy += own_sums.energy;
  all.product += own_sums.product;
  all.own += own_sums.own;
  keep_worse(all, static_cast<double>(row), own_sums.error, own_sums.energy);
  // Its place is looked for only in a row that has a larger one than those before.
  if (all.farthest_at >= 0 && own_sums.farthest <= all.farthest) return;
  const double at = place_of_distance(x, y, n, own_sums.farthest);
  keep_farther(all, own_sums.farthest, static_cast<double>(row * n) + at);
}

void count_bars(const RowsToMeasure& rows, const float* x, size_t n, std::vector<double>& counts) {
  const double width = rows.to - rows.from, scale = width > 0 ? static_cast<double>(rows.bars) / width : 0;
  for (size_t i = 0; i < n; i++) {
    if (!is_finite(x[i])) continue;
    const double bar = (static_cast<double>(x[i]) - rows.from) * scale;
    if (!(bar >= 0)) continue;
    counts[static_cast<size_t>(std::min(bar, static_cast<double>(rows.bars - 1)))] += 1;
  }
}

void measure_row(const Work& work, size_t row, Step& step, std::vector<float>& buffer) {
  const RowsToMeasure& rows = work.rows;
  const size_t n = rows.columns, at = row * n;
  float* x = buffer.data();
  work.table.dequantize(rows.type, rows.data + row * row_bytes(rows.type, n), x, n);
  if (rows.bars > 0) return count_bars(rows, x, n, step.sums.counts);
  if (rows.compares) {
    float* y = x + n;
    work.table.dequantize(rows.other_type, rows.other + row * row_bytes(rows.other_type, n), y, n);
    distance_of(x, y, n, row, step.sums.distance);
  }
  const float* values = x;
  size_t count = n;
  if (!all_finite(x, n)) {
    count = keep_finite(x, n, x + n, at, step.sums);
    values = x + n;
    work.result.flags[row] = static_cast<uint8_t>(RowFlag::not_finite);
  }
  if (count == 0) return;
  const RowSums sums = sums_of(values, count);
  if (count == n && sums.zeros == sums.count) work.result.flags[row] = static_cast<uint8_t>(RowFlag::zeros);
  const float before = std::max(std::fabs(step.min), std::fabs(step.max));
  const float largest = std::max(std::fabs(sums.min), std::fabs(sums.max));
  if (step.sums.count == 0 || largest > before) step.sums.largest = largest_of(x, n, at, largest);
  step.min = std::min(step.min, sums.min);
  step.max = std::max(step.max, sums.max);
  step.sums.zeros += sums.zeros;
  join(step.sums, sums.count, sums.sum / sums.count, sums.spread);
}

void work_through(void* argument, size_t thread) {
  Work& work = *static_cast<Work*>(argument);
  while (!work.cancel.load(std::memory_order_relaxed)) {
    const size_t index = work.next.fetch_add(1), first = index * work.step;
    if (first >= work.count) break;
    Step& step = work.steps[index];
    for (size_t row = first; row < std::min(first + work.step, work.count); row++)
      measure_row(work, row, step, work.buffers[thread]);
  }
}

void add_distance(RowDistance& all, const RowDistance& more) {
  all.compared += more.compared;
  all.error += more.error;
  all.energy += more.energy;
  all.product += more.product;
  all.own += more.own;
  if (more.worst_row >= 0) keep_worse(all, more.worst_row, more.worst_error, more.worst_energy);
  keep_farther(all, more.farthest, more.farthest_at);
}

// In the order of the rows, whichever thread had them.
void add_steps(const std::vector<Step>& steps, MeasuredRows& all) {
  float min = INFINITY, max = -INFINITY;
  for (const Step& step : steps) {
    const MeasuredRows& sums = step.sums;
    if (sums.count > 0) {
      const float before = std::max(std::fabs(min), std::fabs(max));
      if (all.count == 0 || std::max(std::fabs(step.min), std::fabs(step.max)) > before) all.largest = sums.largest;
      min = std::min(min, step.min);
      max = std::max(max, step.max);
    }
    join(all, sums.count, sums.mean, sums.spread);
    all.zeros += sums.zeros;
    all.nans += sums.nans;
    all.infinities += sums.infinities;
    if (all.first_not_finite < 0) all.first_not_finite = sums.first_not_finite;
    for (size_t bar = 0; bar < sums.counts.size(); bar++) all.counts[bar] += sums.counts[bar];
    add_distance(all.distance, sums.distance);
  }
  if (all.count == 0) return;
  all.min = static_cast<double>(min);
  all.max = static_cast<double>(max);
}

void check_bytes(const char* what, Type type, size_t bytes, size_t columns, size_t rows) {
  const TypeInfo& info = type_info(type);
  if (columns == 0 || columns % info.block != 0)
    fail(Code::input_argument, "[measure] columns: got %zu, expected whole blocks of %s", columns, info.name);
  if (bytes != rows * row_bytes(type, columns))
    fail(Code::input_argument, "[measure] %s: got %zu bytes, expected %zu rows of %zu", what, bytes, rows,
         row_bytes(type, columns));
}

}  // namespace

MeasuredRows measure_rows(const Dispatch& table, Pool& pool, size_t threads, const RowsToMeasure& rows,
                          const std::atomic<bool>& cancel) {
  const size_t row = rows.columns == 0 ? 0 : row_bytes(rows.type, rows.columns);
  const size_t count = row == 0 ? 0 : rows.bytes / row;
  check_bytes("rows", rows.type, rows.bytes, rows.columns, count);
  if (rows.compares) check_bytes("other rows", rows.other_type, rows.other_bytes, rows.columns, count);
  MeasuredRows result;
  result.counts.resize(rows.bars);
  if (count == 0) return result;
  result.flags.resize(count);
  const size_t step = std::max<size_t>(1, kStep / rows.columns);
  // Here, for nothing may be thrown on the threads of a pool.
  std::vector<Step> steps((count + step - 1) / step);
  for (Step& each : steps) each.sums.counts.resize(rows.bars);
  std::vector<std::vector<float>> buffers(std::min(threads, steps.size()));
  for (std::vector<float>& own : buffers) own.resize(2 * rows.columns);
  Work work{table, rows, count, step, result, steps, buffers, cancel};
  pool.run(buffers.size(), work_through, &work);
  if (cancel.load()) fail(Code::cancelled, "Cancelled.");
  add_steps(steps, result);
  return result;
}

}  // namespace rlx
