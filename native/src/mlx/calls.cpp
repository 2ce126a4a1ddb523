// Parts of a call (operands, attributes, sizes), and the functions of all families by the names in
// main/backends/mlx/functions.ts. The functions themselves are in calls/<family>.cpp, windows.cpp
// and control.cpp.
#include "calls.h"

#include <limits>
#include <unordered_map>

#include "../core/error.h"
#include "calls/family.h"
#include "control.h"
#include "windows.h"

namespace rlx::gpu {

const array& Invocation::in(size_t index) const {
  if (index >= inputs.size() || inputs[index].array == nullptr)
    fail(Code::ir_type, "[mlx] %s: operand %zu is missing or packed", call.function->name, index);
  return *inputs[index].array;
}
static int to_int(double number) {
  if (!(number >= std::numeric_limits<int>::min() && number <= std::numeric_limits<int>::max()))
    fail(Code::ir_structure, "[mlx] %g is no whole number of 32 bits", number);
  return static_cast<int>(number);
}
const Attribute* Invocation::find(const char* name) const {
  for (const Attribute& attribute : call.attributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}
double Invocation::number(const char* name) const {
  const Attribute* attribute = find(name);
  if (attribute == nullptr || attribute->items.size() != 1)
    fail(Code::ir_structure, "[mlx] %s: attribute %s is missing", call.function->name, name);
  const Attribute::Item& item = attribute->items[0];
  return item.size == kNone ? item.number : static_cast<double>(sizes[item.size]);
}
double Invocation::number(const char* name, double otherwise) const {
  return find(name) == nullptr ? otherwise : number(name);
}
int Invocation::whole(const char* name) const { return to_int(number(name)); }
std::vector<int> Invocation::list(const char* name) const {
  const Attribute* attribute = find(name);
  if (attribute == nullptr) fail(Code::ir_structure, "[mlx] %s: attribute %s is missing", call.function->name, name);
  std::vector<int> result;
  for (const Attribute::Item& item : attribute->items)
    result.push_back(to_int(item.size == kNone ? item.number : static_cast<double>(sizes[item.size])));
  return result;
}
mx::Shape Invocation::shape(size_t output) const { return bind_shape(call.outputs.at(output), sizes, sessions); }
mx::Dtype Invocation::dtype(size_t output) const { return mlx_type(call.outputs.at(output).dtype); }

mx::Dtype mlx_type(DType type) {
  switch (type) {
    case DType::boolean: return mx::bool_;
    case DType::u8: return mx::uint8;
    case DType::i8: return mx::int8;
    case DType::i16: return mx::int16;
    case DType::bf16: return mx::bfloat16;
    case DType::f16: return mx::float16;
    case DType::u32: return mx::uint32;
    case DType::i32: return mx::int32;
    case DType::i64: return mx::int64;
    case DType::f32: return mx::float32;
    case DType::f64: return mx::float64;
    case DType::c64: return mx::complex64;
    default: fail(Code::ir_type, "[mlx] %s is packed", dtype_name(type));
  }
}

mx::Shape bind_shape(const Type& type, const std::vector<size_t>& sizes, size_t sessions) {
  mx::Shape shape;
  for (const uint32_t size : type.sizes) {
    if (sizes[size] > 0x7fffffff) fail(Code::ir_shape, "[mlx] an axis of %zu elements is too long", sizes[size]);
    shape.push_back(static_cast<int>(sizes[size]));
  }
  if (sessions > 1) shape.at(0) *= static_cast<int>(sessions);
  return shape;
}

namespace {

const Function kOthers[] = {
    {"conv", 2, 2, convolve},
    {"conv_transpose", 2, 2, convolve_transposed},
    {"pool_max", 1, 1, pool_call<Pool::max>},
    {"pool_mean", 1, 1, pool_call<Pool::mean>},
    {"pool_sum", 1, 1, pool_call<Pool::sum>},
    {"pool_min", 1, 1, pool_call<Pool::min>},
    {"pool_prod", 1, 1, pool_call<Pool::prod>},
    {"if", 1, kAny, branch, Joins::no, 0, true},
    {"while", 1, kAny, loop, Joins::no, 0, true},
    {"scan", 1, kAny, scan, Joins::no, 0, true},
};

std::vector<std::span<const Function>> families() {
  return {elementwise_calls(), movement_calls(), reductions_calls(), products_calls(), attention_calls(),
          signal_calls(),      scan_calls(),     random_calls(),     factor_calls(),   kOthers};
}

}  // namespace

Joins joins_of(const Function& function) {
  const std::span<const Function> elementwise = elementwise_calls();
  const bool is_elementwise = &function >= elementwise.data() && &function < elementwise.data() + elementwise.size();
  return is_elementwise ? Joins::broadcast : function.joins;
}

const Function* find_function(const std::string& name) {
  static const auto* table = [] {
    auto* made = new std::unordered_map<std::string, const Function*>();
    for (const auto& family : families())
      for (const Function& function : family) made->emplace(function.name, &function);
    return made;
  }();
  const auto found = table->find(name);
  return found == table->end() ? nullptr : found->second;
}

std::vector<const char*> function_names() {
  std::vector<const char*> names;
  for (const auto& family : families())
    for (const Function& function : family) names.push_back(function.name);
  return names;
}

}  // namespace rlx::gpu
