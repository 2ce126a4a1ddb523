// Stored rows as JavaScript hands them over (`StoredRows` in main/backends/cpu/engine.ts): names to numbers, arrays read where they lie.
#pragma once

#include <string>
#include <vector>

#include "../../binding/convert.h"
#include "../stored_error.h"

namespace rlx::binding {

// The place of a name in a list, which is in the order of its enum.
template <class Enum, size_t N>
Enum named(const Napi::Value& value, const char* who, const char* const (&names)[N]) {
  const std::string name = text_of(value, who);
  for (size_t i = 0; i < N; i++)
    if (name == names[i]) return static_cast<Enum>(i);
  fail(Code::input_argument, "[addon] %s: got %s, expected one of %s to %s", who, name.c_str(), names[0], names[N - 1]);
}

inline constexpr const char* kCodes[] = {"fp16", "fp32", "int4", "uint4", "int8", "uint8"};
inline constexpr const char* kScales[] = {"fp16", "fp32"};
inline constexpr const char* kOffsets[] = {"none", "uint4", "fp32"};

// `held` takes what must not be collected while the bytes are read.
inline StoredBytes part_of(const Napi::Object& rows, const char* name, std::vector<Napi::ObjectReference>& held) {
  const Napi::Value value = rows.Get(name);
  if (value.IsUndefined()) return {};
  const Bytes bytes = bytes_of(value, name);
  held.push_back(Napi::Persistent(value.As<Napi::Object>()));
  return {bytes.data, bytes.size};
}

inline StoredRows stored_rows(const Napi::Object& rows, kernels::Type type, std::vector<Napi::ObjectReference>& held) {
  StoredRows made;
  made.args.type = type;
  made.args.count = size_of(rows.Get("count"), "count");
  made.args.codes = named<kernels::Codes>(rows.Get("codes"), "codes", kCodes);
  made.args.group = size_of(rows.Get("group"), "group");
  made.args.scales = named<kernels::Scales>(rows.Get("scales"), "scales", kScales);
  made.args.offsets = named<kernels::Offsets>(rows.Get("offsets"), "offsets", kOffsets);
  made.args.unfold = number_of(rows.Get("unfold"), "unfold");
  made.original = part_of(rows, "original", held);
  made.data = part_of(rows, "data", held);
  made.scale = part_of(rows, "scale", held);
  made.offset = part_of(rows, "offset", held);
  made.rest = part_of(rows, "rest", held);
  return made;
}

}  // namespace rlx::binding
