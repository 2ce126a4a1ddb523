#include "repack.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "../core/error.h"

namespace rlx {
namespace {

using namespace kernels;

// Values between two checks for a cancel: some milliseconds of the slowest type.
constexpr size_t kPiece = size_t{1} << 14;

struct Work {
  const Dispatch& table;
  const RepackRows& rows;
  size_t count, step;  // rows, and rows of a piece
  Repacked& result;
  std::vector<std::vector<float>>& values;  // of a piece, for each thread
  const std::atomic<bool>& cancel;
  std::atomic<size_t> next = 0;
  std::mutex mutex = {};
};

void convert(const Work& work, size_t row, size_t count, std::vector<float>& values, PackSums* sums) {
  const RepackRows& rows = work.rows;
  const size_t from_bytes = row_bytes(rows.from, rows.columns), to_bytes = row_bytes(rows.to, rows.columns);
  for (size_t i = 0; i < count; i++)
    work.table.dequantize(rows.from, rows.original + (row + i) * from_bytes, values.data() + i * rows.columns,
                          rows.columns);
  uint8_t* out = work.result.bytes.data() + row * to_bytes;
  work.table.pack({rows.to, values.data(), count, rows.columns, rows.importance, out}, sums);
}

void work_through(void* argument, size_t thread) {
  Work& work = *static_cast<Work*>(argument);
  std::vector<float>& values = work.values[thread];
  PackSums sums;
  while (!work.cancel.load(std::memory_order_relaxed)) {
    const size_t row = work.next.fetch_add(work.step);
    if (row >= work.count) break;
    convert(work, row, std::min(work.step, work.count - row), values, &sums);
  }
  const std::lock_guard lock(work.mutex);
  PackSums& all = work.result.sums;
  all.energy += sums.energy;
  all.error += sums.error;
  all.weighted += sums.weighted;
  all.not_finite += sums.not_finite;
}

void check(const Dispatch& table, const RepackRows& rows) {
  const TypeInfo &from = type_info(rows.from), &to = type_info(rows.to);
  if (rows.columns == 0 || rows.columns % from.block != 0 || rows.columns % to.block != 0)
    fail(Code::input_argument, "[repack] columns: got %zu, expected whole blocks of %s and of %s", rows.columns,
         from.name, to.name);
  if (rows.bytes % row_bytes(rows.from, rows.columns) != 0)
    fail(Code::input_argument, "[repack] original: got %zu bytes, expected whole rows of %zu", rows.bytes,
         row_bytes(rows.from, rows.columns));
  PackSums sums;
  if (!table.pack({rows.to, nullptr, 0, rows.columns, nullptr, nullptr}, &sums))
    fail(Code::unsupported_tensor_type, "[repack] nothing packs %s", to.name);
}

}  // namespace

Repacked repack(const Dispatch& table, Pool& pool, size_t threads, const RepackRows& rows,
                const std::atomic<bool>& cancel) {
  check(table, rows);
  const size_t count = rows.bytes / row_bytes(rows.from, rows.columns);
  if (count == 0) return {};
  Repacked result{std::vector<uint8_t>(count * row_bytes(rows.to, rows.columns)), {}};
  const size_t step = std::max<size_t>(1, kPiece / rows.columns);
  // Here, for nothing may be thrown on the threads of a pool.
  std::vector<std::vector<float>> values(std::min(threads, (count + step - 1) / step));
  for (std::vector<float>& own : values) own.resize(step * rows.columns);
  Work work{table, rows, count, step, result, values, cancel};
  pool.run(values.size(), work_through, &work);
  if (cancel.load()) fail(Code::cancelled, "Cancelled.");
  return result;
}

}  // namespace rlx
