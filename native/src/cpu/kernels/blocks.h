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
using BlockQ2K = formats::q2_k::Block;
using BlockQ3K = formats::q3_k::Block;
using BlockQ4K = formats::q4_k::Block;
using BlockQ5K = formats::q5_k::Block;
using BlockQ6K = formats::q6_k::Block;
using BlockIq2Xs = formats::iq2_xs::Block;
using BlockIq2S = formats::iq2_s::Block;
using BlockIq4Nl = formats::iq4_nl::Block;
using BlockIq4Xs = formats::iq4_xs::Block;
using BlockMxfp4 = formats::mxfp4::Block;
using BlockTq2 = formats::tq2_0::Block;

// 32-blocks that store a minimum beside the scale.
template <class Block>
inline constexpr bool kHasMin = sizeof(Block) == sizeof(BlockQ4_1) || sizeof(Block) == sizeof(BlockQ5_1);

}  // namespace rlx::kernels::RLX_ISA
