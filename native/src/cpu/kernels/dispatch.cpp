// Instruction sets of this build, those this processor runs, and the sizes every table shares.
#include "kernels.h"

#include <cstring>

#include "processor.h"

namespace rlx::kernels {

namespace scalar {
extern const Dispatch kTable;
}
#if defined(RLX_HAVE_X86)
namespace avx2 {
extern const Dispatch kTable;
}
namespace avx512 {
extern const Dispatch kTable;
}
#if defined(RLX_HAVE_AMX)
namespace amx {
extern const Dispatch kTable;
}
#endif
#endif
#if defined(RLX_HAVE_ARM)
namespace neon {
extern const Dispatch kTable;
}
namespace neon_dot {
extern const Dispatch kTable;
}
namespace neon_i8mm {
extern const Dispatch kTable;
}
#endif

namespace {

bool runs_here(Isa isa) {
  switch (isa) {
    case Isa::scalar: return true;
#if defined(RLX_HAVE_X86)
    case Isa::avx2:
      __builtin_cpu_init();
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    case Isa::avx512:
      __builtin_cpu_init();
      return runs_here(Isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi") &&
             __builtin_cpu_supports("gfni");
#endif
#if defined(RLX_HAVE_AMX)
    case Isa::amx: {
      static const bool has = allows_amx_tiles();
      return runs_here(Isa::avx512) && has;
    }
#endif
#if defined(RLX_HAVE_ARM)
    case Isa::neon: return true;
    case Isa::neon_dot: return has_arm_dot_product();
    case Isa::neon_i8mm: return runs_here(Isa::neon_dot) && has_arm_int8_matmul();
#endif
    default: return false;
  }
}

const Dispatch* table_of(Isa isa) {
  switch (isa) {
    case Isa::scalar: return &scalar::kTable;
#if defined(RLX_HAVE_X86)
    case Isa::avx2: return &avx2::kTable;
    case Isa::avx512: return &avx512::kTable;
#endif
#if defined(RLX_HAVE_AMX)
    case Isa::amx: return &amx::kTable;
#endif
#if defined(RLX_HAVE_ARM)
    case Isa::neon: return &neon::kTable;
    case Isa::neon_dot: return &neon_dot::kTable;
    case Isa::neon_i8mm: return &neon_i8mm::kTable;
#endif
    default: return nullptr;
  }
}

constexpr Isa kAll[kIsaCount] = {Isa::scalar, Isa::avx2,     Isa::avx512,   Isa::amx,
                                 Isa::neon,   Isa::neon_dot, Isa::neon_i8mm};
constexpr const char* kNames[kIsaCount] = {"scalar", "avx2", "avx512", "amx", "neon", "neon-dot", "neon-i8mm"};

size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

}  // namespace

size_t available_isas(Isa* out) {
  size_t n = 0;
  for (Isa isa : kAll) {
    if (runs_here(isa)) out[n++] = isa;
  }
  return n;
}

Isa best_isa() {
  Isa found[kIsaCount];
  return found[available_isas(found) - 1];
}

const char* isa_name(Isa isa) { return kNames[static_cast<size_t>(isa)]; }

bool parse_isa(const char* name, Isa* out) {
  for (Isa isa : kAll) {
    if (strcmp(name, isa_name(isa)) == 0) {
      *out = isa;
      return true;
    }
  }
  return false;
}

const Dispatch* dispatch_for(Isa isa) { return runs_here(isa) ? table_of(isa) : nullptr; }

const Dispatch* dispatch(const char* forced) {
  if (forced == nullptr) return dispatch_for(best_isa());
  Isa isa = Isa::scalar;
  return parse_isa(forced, &isa) ? dispatch_for(isa) : nullptr;
}

size_t matmul_scratch_bytes(size_t tokens) {
  const size_t rows = tokens != 0 && tokens < kGemmMinTokens ? kFewRows : kRowStep;
  const size_t results = (tokens == 0 || tokens > kPanelTokens ? kPanelTokens : tokens) * rows * sizeof(float);
  return 2 * results + kPanelBytes;
}

size_t attention_ggml_scratch_bytes(size_t capacity, size_t head_dim) {
  constexpr size_t lanes = 16;  // the most there are
  const auto rounded = [](size_t n) { return (n + lanes - 1) / lanes * lanes; };
  const size_t sums = head_dim % kGgmlTileRows == 0 ? lanes : 4 * lanes;
  return kGgmlRows * (rounded(capacity) + sums * rounded(head_dim)) * sizeof(float);
}

size_t attention_scratch_bytes(size_t head_dim, size_t group, bool packed) {
  const size_t wide = round_up(head_dim, 32);
  const size_t tokens = group >= 256 ? 1 : (256 / group < kAttentionTokenStep ? 256 / group : kAttentionTokenStep);
  const size_t rows = tokens * group;
  const size_t prompt = rows * (2 * wide + 64 + 2) + 64 * 2 * wide + 16 * wide + 256;
  const size_t decode = group * (kDecodeKeys + round_up(head_dim + 2, 16)) + (packed ? 2 * kDecodeKeys * head_dim : 0);
  return (prompt > decode ? prompt : decode) * sizeof(float);
}

size_t attention_partial_floats(const AttentionArgs& a) {
  return a.tokens * (a.heads / a.kv_heads) * round_up(a.head_dim + 2, 16);
}

}  // namespace rlx::kernels
