// Helpers of the bridge's tests: checks with codes, models that compute something simple, and where
// their files are.
#pragma once

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "control.h"
#include "coreml/bridge.h"
#include "coreml/strided.h"
#include "testModel.h"

using namespace rlx::coreml;
namespace twin = coreml_double;
namespace files = std::filesystem;

extern "C" void check(bool holds, const char* what);

inline void expect_code(const char* code, const char* what, const std::function<void()>& act) {
  try {
    act();
  } catch (const Failure& failure) {
    if (std::strcmp(failure.code(), code) != 0) std::fprintf(stderr, "  got %s: %s\n", failure.code(), failure.what());
    return check(std::strcmp(failure.code(), code) == 0, what);
  }
  check(false, what);
}

inline files::path root;

inline twin::Feature feature(const char* name, const char* type, twin::Shape shape) {
  twin::Feature made;
  made.name = name;
  made.type = type;
  made.shape = std::move(shape);
  return made;
}

inline Tensor floats(const char* name, Shape shape, const std::vector<float>& values) {
  auto bytes = std::make_shared<std::vector<uint8_t>>(values.size() * 4);
  std::memcpy(bytes->data(), values.data(), bytes->size());
  return {name, DType::f32, std::move(shape), bytes};
}
inline std::vector<float> values_of(const Tensor& tensor) {
  std::vector<float> made(tensor.bytes->size() / 4);
  std::memcpy(made.data(), tensor.bytes->data(), tensor.bytes->size());
  return made;
}
inline std::vector<float> ramp(size_t count) {
  std::vector<float> made(count);
  for (size_t i = 0; i < count; i++) made[i] = static_cast<float>(i % 61) - 30;
  return made;
}

// ------------------------------------------------------------- what the models compute
// y = 2x for every input x → y pair of the same type; `total` becomes total + sum(x) in a state that is read back as `sum`.

inline float element(const twin::Tensor& tensor, size_t i) {
  if (tensor.type == "fp16") return half_to_float(reinterpret_cast<const uint16_t*>(tensor.bytes.data())[i]);
  if (tensor.type == "fp32") return reinterpret_cast<const float*>(tensor.bytes.data())[i];
  if (tensor.type == "fp64") return static_cast<float>(reinterpret_cast<const double*>(tensor.bytes.data())[i]);
  if (tensor.type == "int8") return static_cast<float>(reinterpret_cast<const int8_t*>(tensor.bytes.data())[i]);
  return static_cast<float>(reinterpret_cast<const int32_t*>(tensor.bytes.data())[i]);
}
inline void set(twin::Tensor& tensor, size_t i, float value) {
  if (tensor.type == "fp16") reinterpret_cast<uint16_t*>(tensor.bytes.data())[i] = float_to_half(value);
  if (tensor.type == "fp32") reinterpret_cast<float*>(tensor.bytes.data())[i] = value;
  if (tensor.type == "fp64") reinterpret_cast<double*>(tensor.bytes.data())[i] = value;
  if (tensor.type == "int8") reinterpret_cast<int8_t*>(tensor.bytes.data())[i] = static_cast<int8_t>(value);
  if (tensor.type == "int32") reinterpret_cast<int32_t*>(tensor.bytes.data())[i] = static_cast<int32_t>(value);
}
inline size_t count_of(const twin::Tensor& tensor) {
  size_t count = 1;
  for (int64_t dim : tensor.shape) count *= static_cast<size_t>(dim);
  return count;
}

inline twin::Reply doubled(const twin::Request& request) {
  twin::Reply reply;
  for (const twin::Tensor& input : request.inputs) {
    twin::Tensor output = input;
    output.name = "y" + input.name.substr(1);
    for (size_t i = 0; i < count_of(input); i++) set(output, i, 2 * element(input, i));
    reply.outputs.push_back(std::move(output));
  }
  for (const twin::Tensor& held : request.states) {
    twin::Tensor next = held;
    float sum = 0;
    for (size_t i = 0; i < count_of(request.inputs[0]); i++) sum += element(request.inputs[0], i);
    for (size_t i = 0; i < count_of(held); i++) set(next, i, element(held, i) + sum);
    reply.states.push_back(std::move(next));
  }
  return reply;
}

inline std::string compiled(const std::string& name, const std::vector<test_model::Entry>& entries) {
  const std::string package = test_model::write_package(root / (name + ".mlpackage"), entries);
  const std::string target = (root / (name + ".mlmodelc")).string();
  compile(package, target, nullptr);
  return target;
}

inline test_model::Block simple_block() {
  using test_model::Operation;
  return {{"y"},
          {{"const", {"two"}, {}},
           {"constexpr_lut_to_dense", {"weight"}, {}},
           {"mul", {"y"}, {}},
           {"cond",
            {"z"},
            {{{"a"}, {{"gather", {"a"}, {}}}}, {{"b"}, {{"while_loop", {"b"}, {{{"c"}, {{"add", {"c"}, {}}}}}}}}}}}};
}
inline test_model::Entry typed(const char* type, twin::Shape shape, const char* name = "main") {
  return {{name, {feature("x", type, shape)}, {feature("y", type, shape)}, {}}, simple_block()};
}
inline test_model::Entry stateful(const char* name = "main") {
  test_model::Entry made = typed("fp16", {1, 4}, name);
  made.interface.states = {feature("total", "fp16", {2, 3})};
  return made;
}
