// C functions over the kernel tables, so that Python's ctypes can compare them with ggml.
#include "kernels.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace rlx::kernels;

// Name of the i-th available instruction set, or null.
EXPORT const char* rlx_isa(int i) {
  Isa found[6];
  const int count = static_cast<int>(available_isas(found));
  return i >= 0 && i < count ? isa_name(found[i]) : nullptr;
}

EXPORT int rlx_type(const char* name) {
  for (size_t i = 0; i < kTypeCount; ++i) {
    const char* a = kTypeInfo[i].name;
    const char* b = name;
    while (*a != 0 && *a == *b) ++a, ++b;
    if (*a == 0 && *b == 0) return static_cast<int>(i);
  }
  return -1;
}

EXPORT int rlx_dequantize(const char* isa, int type, const void* row, float* y, size_t k) {
  const Dispatch* table = dispatch(isa);
  if (table == nullptr) return -1;
  table->dequantize(static_cast<Type>(type), row, y, k);
  return 0;
}
