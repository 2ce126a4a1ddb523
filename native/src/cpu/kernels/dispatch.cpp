// Which instruction sets this build holds, which of them this processor runs, and the sizes every table shares.
#include "kernels.h"

#include <cstring>

#if defined(RLX_HAVE_AMX)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

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

#if defined(RLX_HAVE_ARM)
bool arm_feature(const char* apple, unsigned long hwcap, bool second) {
#if defined(__linux__)
  (void)apple;
  return (getauxval(second ? AT_HWCAP2 : AT_HWCAP) & hwcap) != 0;
#elif defined(__APPLE__)
  (void)hwcap;
  (void)second;
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(apple, &value, &size, nullptr, 0) == 0 && value == 1;
#else
  (void)apple;
  (void)hwcap;
  (void)second;
  return false;
#endif
}
#endif

#if defined(RLX_HAVE_AMX)
// A process asks the system for the tiles' state, 8 KB for each thread, before it may use them.
bool has_tiles() {
  constexpr unsigned tiles_and_bytes = 1u << 24 | 1u << 25;
  constexpr long request_permission = 0x1023, tile_data = 18;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & tiles_and_bytes) != tiles_and_bytes) return false;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#endif

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
      static const bool has = has_tiles();
      return runs_here(Isa::avx512) && has;
    }
#endif
#if defined(RLX_HAVE_ARM)
    case Isa::neon: return true;
    case Isa::neon_dot: return arm_feature("hw.optional.arm.FEAT_DotProd", 1UL << 20, false);
    case Isa::neon_i8mm: return runs_here(Isa::neon_dot) && arm_feature("hw.optional.arm.FEAT_I8MM", 1UL << 13, true);
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

size_t attention_scratch_bytes(size_t head_dim, size_t group) {
  const size_t wide = round_up(head_dim, 32);
  const size_t tokens = group >= 256 ? 1 : (256 / group < kAttentionTokenStep ? 256 / group : kAttentionTokenStep);
  const size_t rows = tokens * group;
  const size_t prompt = rows * (2 * wide + 64 + 2) + 64 * 2 * wide + 16 * wide + 256;
  const size_t decode = group * (kDecodeKeys + round_up(head_dim + 2, 16));
  return (prompt > decode ? prompt : decode) * sizeof(float);
}

size_t attention_partial_floats(const AttentionArgs& a) {
  return a.tokens * (a.heads / a.kv_heads) * round_up(a.head_dim + 2, 16);
}

}  // namespace rlx::kernels
