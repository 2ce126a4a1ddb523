// JavaScript values to C++ and back. What JavaScript passes was typed by main/node/native/addon.ts,
// but is checked again here: a wrong type is INPUT_ARGUMENT, never undefined behaviour.
#pragma once

#include <napi.h>

#include <string>
#include <utility>
#include <vector>

#include "../core/error.h"

namespace rlx::binding {

[[noreturn]] inline void reject(const char* label, const char* expected) {
  fail(Code::input_argument, "[addon] %s: expected %s", label, expected);
}

inline double number_of(const Napi::Value& value, const char* label) {
  if (!value.IsNumber()) reject(label, "a number");
  return value.As<Napi::Number>().DoubleValue();
}

inline size_t size_of(const Napi::Value& value, const char* label) {
  const double number = number_of(value, label);
  if (!(number >= 0 && number <= 9007199254740991.0) || number != static_cast<double>(static_cast<uint64_t>(number)))
    reject(label, "a whole number");
  return static_cast<size_t>(number);
}

inline std::string text_of(const Napi::Value& value, const char* label) {
  if (!value.IsString()) reject(label, "a string");
  return value.As<Napi::String>().Utf8Value();
}

inline Napi::Object object_of(const Napi::Value& value, const char* label) {
  if (!value.IsObject()) reject(label, "an object");
  return value.As<Napi::Object>();
}

struct Bytes {
  uint8_t* data;
  size_t size;
};

// The memory of a typed array, valid until control returns to JavaScript.
inline Bytes bytes_of(const Napi::Value& value, const char* label) {
  if (!value.IsTypedArray()) reject(label, "a typed array");
  const auto array = value.As<Napi::TypedArray>();
  auto* data = static_cast<uint8_t*>(array.ArrayBuffer().Data());
  return {data == nullptr ? nullptr : data + array.ByteOffset(), array.ByteLength()};
}

inline std::vector<std::pair<std::string, size_t>> sizes_of(const Napi::Value& value, const char* label) {
  std::vector<std::pair<std::string, size_t>> result;
  if (value.IsUndefined()) return result;
  const Napi::Object object = object_of(value, label);
  const Napi::Array names = object.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); i++) {
    const std::string name = text_of(names.Get(i), label);
    result.emplace_back(name, size_of(object.Get(name), label));
  }
  return result;
}

inline std::vector<std::string> texts_of(const Napi::Value& value, const char* label) {
  std::vector<std::string> result;
  if (value.IsUndefined()) return result;
  if (!value.IsArray()) reject(label, "an array of strings");
  const auto array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) result.push_back(text_of(array.Get(i), label));
  return result;
}

// A copy in JavaScript's memory: Electron allows no ArrayBuffer over native memory.
inline Napi::Uint8Array copy_bytes(Napi::Env env, const uint8_t* data, size_t size) {
  Napi::Uint8Array result = Napi::Uint8Array::New(env, size);
  if (size > 0) std::memcpy(result.Data(), data, size);
  return result;
}

}  // namespace rlx::binding
