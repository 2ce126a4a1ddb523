// The blocks that kernels read in place (core/formats).
#pragma once

#include "../../core/formats/all.h"
#include "simd/half.h"

namespace rlx::kernels::RLX_ISA {

using formats::byte_of;
using formats::load_half;
using formats::PackedScales;
using formats::unpack_scales;
using BlockQ8_0 = formats::q8_0::Block;
using BlockQ4_0 = formats::q4_0::Block;
using BlockQ4_1 = formats::q4_1::Block;
using BlockQ5_0 = formats::q5_0::Block;
using BlockQ5_1 = formats::q5_1::Block;
using BlockQ4K = formats::q4_k::Block;
using BlockQ5K = formats::q5_k::Block;
using BlockQ6K = formats::q6_k::Block;

// 32-blocks that store a minimum beside the scale.
template <class Block>
inline constexpr bool kHasMin = sizeof(Block) == sizeof(BlockQ4_1) || sizeof(Block) == sizeof(BlockQ5_1);

}  // namespace rlx::kernels::RLX_ISA
