#include "stored_error.h"

#include <algorithm>

#include "../core/error.h"

namespace rlx {
namespace {

using namespace kernels;

// Some hundred microseconds of work between two checks for a cancel.
constexpr size_t kPiece = 256 * kStoredRun;

void expect_bytes(const char* part, const StoredBytes& bytes, size_t expected) {
  if (bytes.size != expected)
    fail(Code::input_argument, "[stored error] %s: got %zu bytes, expected %zu", part, bytes.size, expected);
}

size_t bits_of(Codes codes) {
  switch (codes) {
    case Codes::f16: return 16;
    case Codes::f32: return 32;
    case Codes::int4:
    case Codes::uint4: return 4;
    case Codes::int8:
    case Codes::uint8: return 8;
  }
  return 0;
}

void check(const StoredRows& rows) {
  const StoredArgs& a = rows.args;
  const TypeInfo& block = type_info(a.type);
  if (a.count % block.block != 0)
    fail(Code::input_argument, "[stored error] count: got %zu, expected whole blocks of %u", a.count, block.block);
  expect_bytes("original", rows.original, row_bytes(a.type, a.count));
  expect_bytes("data", rows.data, a.count * bits_of(a.codes) / 8);
  if (is_value(a.codes)) return;
  if (a.group == 0 || a.group % kStoredGroup != 0 || kStoredRun % a.group != 0 || a.count % a.group != 0)
    fail(Code::input_argument,
         "[stored error] group: got %zu of %zu elements, expected a multiple of %zu that divides them and %zu", a.group,
         a.count, kStoredGroup, kStoredRun);
  if (a.offsets == Offsets::f32 && a.scales == Scales::f16)
    fail(Code::input_argument, "[stored error] offsets: got f32 with scales of f16, expected scales of f32");
  const size_t groups = a.count / a.group;
  expect_bytes("scale", rows.scale, groups * (a.scales == Scales::f32 ? 4 : 2));
  expect_bytes("offset", rows.offset,
               a.offsets == Offsets::none  ? 0
               : a.offsets == Offsets::f32 ? groups * 4
                                           : (groups + 1) / 2);
  if (rows.rest.size != 0) expect_bytes("rest", rows.rest, groups * 2);
}

const void* at(const StoredBytes& bytes, size_t offset) {
  return bytes.size == 0 ? nullptr : static_cast<const uint8_t*>(bytes.data) + offset;
}

// Elements from .. from + count of the rows. Pieces begin at an even group.
StoredArgs piece_of(const StoredRows& rows, size_t from, size_t count) {
  StoredArgs a = rows.args;
  a.count = count;
  a.original = at(rows.original, row_bytes(a.type, from));
  a.data = at(rows.data, from * bits_of(a.codes) / 8);
  if (is_value(a.codes)) return a;
  const size_t group = from / a.group;
  a.scale = at(rows.scale, group * (a.scales == Scales::f32 ? 4 : 2));
  a.offset = at(rows.offset, a.offsets == Offsets::f32 ? group * 4 : group / 2);
  a.rest = at(rows.rest, group * 2);
  return a;
}

}  // namespace

StoredSums stored_error(const Dispatch& table, const StoredRows& rows, const std::atomic<bool>& cancel) {
  check(rows);
  StoredSums sums;
  for (size_t from = 0; from < rows.args.count; from += kPiece) {
    if (cancel.load(std::memory_order_relaxed)) fail(Code::cancelled, "Cancelled.");
    table.stored_error(piece_of(rows, from, std::min(kPiece, rows.args.count - from)), &sums);
  }
  return sums;
}

}  // namespace rlx
