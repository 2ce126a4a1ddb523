// How each table runs each kernel, for the support report (`rlx doctor`).
#include "kernels.h"

namespace rlx::kernels {
namespace {

constexpr const char* kGroupsOf32 =
    "matmul q8_0 q8_k q4_0 q4_1 q5_0 q5_1 iq4_nl iq4_xs iq3_s iq3_xxs iq2_xxs iq1_s mxfp4 nvfp4 tq1_0 tq2_0 q1_0 q2_0";
constexpr const char* kKBlocks = "matmul q4_k q5_k q6_k q2_k q3_k iq2_s iq2_xs iq1_m";

constexpr KernelNote kScalar[] = {
    {"matmul f32 f16 bf16", "f32, exact dequantisation"},
    {"matmul of other types", "int16 activations, plain loops"},
    {"attention", "f32, four lanes"},
};
#if defined(RLX_HAVE_X86)
constexpr KernelNote kAvx2[] = {
    {"matmul f32 f16 bf16", "f32 FMA, exact dequantisation"},
    {kGroupsOf32, "int16 activations, vpmaddwd"},
    {kKBlocks, "8-bit activations, a factor for every 8; decode vpmaddubsw, prompt vpmaddwd"},
    {"attention", "f32 FMA, 8 lanes, f16 cache by F16C"},
    {"matmul f32 f16, attention, with an f32 cache", "ggml's order of sums and its roundings"},
};
constexpr KernelNote kAvx512[] = {
    {"matmul f32 f16 bf16", "f32 FMA, exact dequantisation"},
    {kGroupsOf32, "15-bit activations; decode vpdpbusd on two byte planes, prompt vpdpwssd"},
    {kKBlocks, "8-bit activations, a factor for every 8; decode vpdpbusd, prompt vpdpwssd"},
    {"attention", "f32 FMA, 16 lanes, f16 cache by F16C"},
    {"matmul f32 f16, attention, with an f32 cache", "ggml's order of sums and its roundings"},
};
#if defined(RLX_HAVE_AMX)
constexpr KernelNote kAmx[] = {
    kAvx512[0],
    {kGroupsOf32, "15-bit activations on two byte planes; decode vpdpbusd, prompt tdpbssd"},
    {kKBlocks, "8-bit activations, a factor for every 8; decode vpdpbusd, prompt tdpbssd on two planes of each"},
    kAvx512[3],
    kAvx512[4],
};
#endif
#endif
#if defined(RLX_HAVE_ARM)
constexpr KernelNote kNeon[] = {
    {"matmul f32 f16 bf16", "f32 FMA, exact dequantisation"},
    {kGroupsOf32, "two byte planes of activations, smull and pairwise adds"},
    {kKBlocks, "8-bit activations, a factor for every 8; smull and pairwise adds"},
    {"attention", "f32 FMA, 4 lanes"},
};
constexpr KernelNote kNeonDot[] = {
    {"matmul f32 f16 bf16", "f32 FMA, exact dequantisation"},
    {kGroupsOf32, "two byte planes of activations, sdot"},
    {kKBlocks, "8-bit activations, a factor for every 8; sdot, prompt on two planes"},
    {"attention", "f32 FMA, 4 lanes"},
};
constexpr KernelNote kNeonI8mm[] = {
    {"matmul f32 f16 bf16", "f32 FMA, exact dequantisation"},
    {kGroupsOf32, "two byte planes of activations; decode sdot, prompt smmla"},
    {kKBlocks, "8-bit activations, a factor for every 8; decode sdot, prompt smmla on two planes"},
    {"attention", "f32 FMA, 4 lanes"},
};
#endif

template <size_t N>
size_t give(const KernelNote (&notes)[N], const KernelNote** out) {
  *out = notes;
  return N;
}

}  // namespace

size_t kernel_notes(Isa isa, const KernelNote** out) {
  switch (isa) {
    case Isa::scalar: return give(kScalar, out);
#if defined(RLX_HAVE_X86)
    case Isa::avx2: return give(kAvx2, out);
    case Isa::avx512: return give(kAvx512, out);
#endif
#if defined(RLX_HAVE_AMX)
    case Isa::amx: return give(kAmx, out);
#endif
#if defined(RLX_HAVE_ARM)
    case Isa::neon: return give(kNeon, out);
    case Isa::neon_dot: return give(kNeonDot, out);
    case Isa::neon_i8mm: return give(kNeonI8mm, out);
#endif
    default: *out = nullptr; return 0;
  }
}

}  // namespace rlx::kernels
