// The function table of one instruction set.
#include "internal.h"
#include "pack.h"
#include "stored.h"

namespace rlx::kernels {
namespace RLX_ISA {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kWatched = true;
#else
constexpr bool kWatched = false;
#endif

#define RLX_TEXT2(x) #x
#define RLX_TEXT(x) RLX_TEXT2(x)

extern const Dispatch kTable;
const Dispatch kTable = {
    Isa::RLX_ISA,
    RLX_TEXT(RLX_ISA_LABEL),
    dequantize,
    f32_to_f16,
    f16_to_f32,
    f32_to_bf16,
    bf16_to_f32,
    act_bytes,
    prepare,
    matmul,
    gemm,
    add_scaled,
    fft_stage,
    attention_prompt,
    attention_ggml,
    attention_decode,
    attention_combine,
    rms_norm,
    layer_norm,
    rope,
    softmax,
    log_sum_exp,
    unary,
    binary,
    reduce,
    argmax,
    top_k,
    stored_error,
    pack,
    kWatched,
};

}  // namespace RLX_ISA
}  // namespace rlx::kernels
