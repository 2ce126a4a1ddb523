// Stored rows as JavaScript hands them over (`StoredRows` in main/backends/cpu/engine.ts): names to
// numbers, and a copy of the arrays, because JavaScript may change or detach its memory while they
// are read on another thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../../binding/convert.h"
#include "../stored_error.h"

namespace rlx::binding {

// The index of a name in a list that has the order of its enum.
template <class Enum, size_t N>
Enum named(const Napi::Value& value, const char* label, const char* const (&names)[N]) {
  const std::string name = text_of(value, label);
  for (size_t i = 0; i < N; i++)
    if (name == names[i]) return static_cast<Enum>(i);
  fail(Code::input_argument, "[addon] %s: got %s, expected one of %s to %s", label, name.c_str(), names[0],
       names[N - 1]);
}

inline constexpr const char* kCodes[] = {"fp16", "fp32", "int4", "uint4", "int8", "uint8"};
inline constexpr const char* kScales[] = {"fp16", "fp32"};
inline constexpr const char* kOffsets[] = {"none", "uint4", "fp32"};

// The rows and the bytes that they point to.
struct OwnedRows {
  StoredRows rows;
  std::vector<std::vector<uint8_t>> bytes;
};

inline StoredBytes part_of(const Napi::Object& rows, const char* name, OwnedRows& made) {
  const Napi::Value value = rows.Get(name);
  if (value.IsUndefined()) return {};
  const Bytes bytes = bytes_of(value, name);
  const std::vector<uint8_t>& own = made.bytes.emplace_back(bytes.data, bytes.data + bytes.size);
  return {own.data(), own.size()};
}

inline std::shared_ptr<OwnedRows> stored_rows(const Napi::Object& rows, kernels::Type type) {
  const auto made = std::make_shared<OwnedRows>();
  kernels::StoredArgs& args = made->rows.args;
  args.type = type;
  args.count = size_of(rows.Get("count"), "count");
  args.codes = named<kernels::Codes>(rows.Get("codes"), "codes", kCodes);
  args.group = size_of(rows.Get("group"), "group");
  args.scales = named<kernels::Scales>(rows.Get("scales"), "scales", kScales);
  args.offsets = named<kernels::Offsets>(rows.Get("offsets"), "offsets", kOffsets);
  args.unfold = number_of(rows.Get("unfold"), "unfold");
  made->rows.original = part_of(rows, "original", *made);
  made->rows.data = part_of(rows, "data", *made);
  made->rows.scale = part_of(rows, "scale", *made);
  made->rows.offset = part_of(rows, "offset", *made);
  made->rows.rest = part_of(rows, "rest", *made);
  return made;
}

}  // namespace rlx::binding
