#include "tensor.h"

#include "../core/error.h"

namespace rlx {
namespace {

struct Facts {
  const char* name;
  size_t bytes;
  int kernel;  // kernels::Type, or -1
};

constexpr int none = -1;
constexpr int of(kernels::Type type) { return static_cast<int>(type); }

constexpr Facts kFacts[kDTypes] = {
    {"bool", 1, none},
    {"u8", 1, none},
    {"i8", 1, none},
    {"i16", 2, none},
    {"bf16", 2, of(kernels::Type::bf16)},
    {"f16", 2, of(kernels::Type::f16)},
    {"u32", 4, none},
    {"i32", 4, none},
    {"i64", 8, none},
    {"f32", 4, of(kernels::Type::f32)},
    {"f64", 8, none},
    {"c64", 8, none},
    {"q4_0", 0, of(kernels::Type::q4_0)},
    {"q4_1", 0, of(kernels::Type::q4_1)},
    {"q5_0", 0, of(kernels::Type::q5_0)},
    {"q5_1", 0, of(kernels::Type::q5_1)},
    {"q8_0", 0, of(kernels::Type::q8_0)},
    {"q2_k", 0, of(kernels::Type::q2_k)},
    {"q3_k", 0, of(kernels::Type::q3_k)},
    {"q4_k", 0, of(kernels::Type::q4_k)},
    {"q5_k", 0, of(kernels::Type::q5_k)},
    {"q6_k", 0, of(kernels::Type::q6_k)},
    {"q8_k", 0, none},
    {"iq4_nl", 0, none},
};

// Larger than any memory, small enough that sums and products of a few cannot overflow.
constexpr size_t kMaxElements = size_t{1} << 46;

}  // namespace

const char* dtype_name(DType type) { return kFacts[static_cast<size_t>(type)].name; }
size_t dtype_bytes(DType type) { return kFacts[static_cast<size_t>(type)].bytes; }

bool kernel_type(DType type, kernels::Type* out) {
  const int kernel = kFacts[static_cast<size_t>(type)].kernel;
  if (kernel < 0) return false;
  *out = static_cast<kernels::Type>(kernel);
  return true;
}

size_t storage_bytes(DType type, size_t count) {
  if (count > kMaxElements) fail(Code::ir_shape, "[plan] tensor too large: got %zu elements", count);
  if (!is_packed(type)) return count * dtype_bytes(type);
  kernels::Type packed;
  if (!kernel_type(type, &packed))
    fail(Code::unsupported_tensor_type, "[plan] no kernel reads %s", dtype_name(type));
  const kernels::TypeInfo& info = kernels::type_info(packed);
  if (count % info.block != 0)
    fail(Code::ir_shape, "[plan] %zu elements of %s are not whole blocks of %u", count, info.name, info.block);
  return count / info.block * info.bytes;
}

int64_t Expression::evaluate_signed(const std::vector<size_t>& symbols) const {
  int64_t total = 0;
  for (const Term& term : terms) {
    int64_t product = term.coefficient;
    for (const uint32_t symbol : term.symbols)
      if (__builtin_mul_overflow(product, static_cast<int64_t>(symbols[symbol]), &product))
        fail(Code::ir_shape, "[plan] a size is too large");
    if (__builtin_add_overflow(total, product, &total)) fail(Code::ir_shape, "[plan] a size is too large");
  }
  return total;
}

size_t Expression::evaluate(const std::vector<size_t>& symbols) const {
  const int64_t value = evaluate_signed(symbols);
  if (value < 0 || static_cast<uint64_t>(value) > kMaxElements)
    fail(Code::ir_shape, "[plan] a size is out of range: got %lld", static_cast<long long>(value));
  return static_cast<size_t>(value);
}

}  // namespace rlx
