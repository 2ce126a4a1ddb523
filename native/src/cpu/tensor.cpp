#include "tensor.h"

namespace rlx {

bool kernel_type(DType type, kernels::Type* out) {
  if (is_packed(type)) {
    // Both enums list the packed types in the order of core/formats/layouts.h.
    const int place = static_cast<int>(type) - static_cast<int>(kFirstPacked);
    *out = static_cast<kernels::Type>(static_cast<int>(kernels::kFirstPacked) + place);
    return true;
  }
  switch (type) {
    case DType::f32: *out = kernels::Type::f32; return true;
    case DType::f16: *out = kernels::Type::f16; return true;
    case DType::bf16: *out = kernels::Type::bf16; return true;
    default: return false;
  }
}

}  // namespace rlx
