// How the blocks of the packed types lie in memory, and the list of those types, in the order of
// main/quant/registry.ts: a plan names a type by its place. What only asks for sizes includes this;
// how a block is unpacked and packed stands in a header of its own for each type (all.h). Types whose
// values are a scale times a whole code also have `kGroup` (values that share a scale) and
// `kLargest` (magnitude of a code).
#pragma once

#include <cstddef>
#include <cstdint>

namespace rlx::formats::q4_0 {
inline constexpr size_t kElements = 32;
struct Block {
  uint8_t d[2];
  uint8_t qs[16];
};
}  // namespace rlx::formats::q4_0

namespace rlx::formats::q4_1 {
inline constexpr size_t kElements = 32;
struct Block {
  uint8_t d[2], m[2];
  uint8_t qs[16];
};
}  // namespace rlx::formats::q4_1

namespace rlx::formats::q5_0 {
inline constexpr size_t kElements = 32;
struct Block {
  uint8_t d[2];
  uint8_t qh[4];
  uint8_t qs[16];
};
}  // namespace rlx::formats::q5_0

namespace rlx::formats::q5_1 {
inline constexpr size_t kElements = 32;
struct Block {
  uint8_t d[2], m[2];
  uint8_t qh[4];
  uint8_t qs[16];
};
}  // namespace rlx::formats::q5_1

namespace rlx::formats::q8_0 {
inline constexpr size_t kElements = 32;
struct Block {
  uint8_t d[2];
  int8_t qs[32];
};
}  // namespace rlx::formats::q8_0

namespace rlx::formats::q2_k {
inline constexpr size_t kElements = 256;
struct Block {
  uint8_t scales[16];
  uint8_t qs[64];
  uint8_t d[2], dmin[2];
};
}  // namespace rlx::formats::q2_k

namespace rlx::formats::q3_k {
inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 16;
inline constexpr int kLargest = 4;
struct Block {
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  uint8_t d[2];
};
}  // namespace rlx::formats::q3_k

namespace rlx::formats::q4_k {
inline constexpr size_t kElements = 256;
struct Block {
  uint8_t d[2], dmin[2];
  uint8_t scales[12];
  uint8_t qs[128];
};
}  // namespace rlx::formats::q4_k

namespace rlx::formats::q5_k {
inline constexpr size_t kElements = 256;
struct Block {
  uint8_t d[2], dmin[2];
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};
}  // namespace rlx::formats::q5_k

namespace rlx::formats::q6_k {
inline constexpr size_t kElements = 256;
struct Block {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint8_t d[2];
};
}  // namespace rlx::formats::q6_k

namespace rlx::formats::q8_k {
inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 256;
inline constexpr int kLargest = 128;
struct Block {
  uint8_t d[4];
  int8_t qs[256];
  uint8_t sums[32];  // i16 sums of 16 codes each: not needed to unpack
};
}  // namespace rlx::formats::q8_k

namespace rlx::formats::iq4_nl {
inline constexpr size_t kElements = 32;
inline constexpr size_t kGroup = 32;
inline constexpr int kLargest = 127;
struct Block {
  uint8_t d[2];
  uint8_t qs[16];
};
}  // namespace rlx::formats::iq4_nl

namespace rlx::formats::iq4_xs {
inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 32;
inline constexpr int kLargest = 127;
struct Block {
  uint8_t d[2];
  uint8_t high[2];  // two high bits of each scale
  uint8_t low[4];   // four low bits of each scale
  uint8_t qs[128];
};
}  // namespace rlx::formats::iq4_xs

namespace rlx::formats::mxfp4 {
inline constexpr size_t kElements = 32;
inline constexpr size_t kGroup = 32;
inline constexpr int kLargest = 12;
struct Block {
  uint8_t exponent;
  uint8_t qs[16];
};
}  // namespace rlx::formats::mxfp4

namespace rlx::formats::tq2_0 {
inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 256;
inline constexpr int kLargest = 2;
struct Block {
  uint8_t qs[64];
  uint8_t d[2];
};
}  // namespace rlx::formats::tq2_0

namespace rlx::formats::iq1_s {
inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 32;
inline constexpr int kLargest = 9;
struct Block {
  uint8_t d[2];
  uint8_t qs[32];
  uint8_t qh[16];  // of each group 16 bits: 4 x 3 high bits of the places, scale, sign
};
}  // namespace rlx::formats::iq1_s

namespace rlx::formats::iq1_m {
inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 16;
inline constexpr int kLargest = 9;
struct Block {
  uint8_t qs[32];
  uint8_t qh[16];  // of each eight a nibble: 3 high bits of the place, sign
  uint8_t scales[8];
};
}  // namespace rlx::formats::iq1_m

namespace rlx::formats::iq2_xxs {
inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 32;
inline constexpr int kLargest = 43;
struct Block {
  uint8_t d[2];
  uint8_t qs[64];  // of each group: four places, then 32 bits: 4 x 7 signs, scale
};
}  // namespace rlx::formats::iq2_xxs

namespace rlx::formats::iq2_xs {
inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 16;
inline constexpr int kLargest = 43;
struct Block {
  uint8_t d[2];
  uint8_t qs[64];  // of each eight: 9 bits of place, 7 signs
  uint8_t scales[8];
};
}  // namespace rlx::formats::iq2_xs

namespace rlx::formats::iq2_s {
inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 16;
inline constexpr int kLargest = 43;
struct Block {
  uint8_t d[2];
  uint8_t qs[32];  // low bits of the places
  uint8_t signs[32];
  uint8_t qh[8];  // two high bits of each place
  uint8_t scales[8];
};
}  // namespace rlx::formats::iq2_s

namespace rlx::formats::iq3_xxs {
inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 32;
inline constexpr int kLargest = 62;
struct Block {
  uint8_t d[2];
  uint8_t qs[64];
  uint8_t rest[32];  // of each group 32 bits: 4 x 7 signs, scale
};
}  // namespace rlx::formats::iq3_xxs

namespace rlx::formats::iq3_s {
inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 32;
inline constexpr int kLargest = 15;
struct Block {
  uint8_t d[2];
  uint8_t qs[64];
  uint8_t qh[8];  // ninth bits of the places
  uint8_t signs[32];
  uint8_t scales[4];
};
}  // namespace rlx::formats::iq3_s

namespace rlx::formats::tq1_0 {
inline constexpr size_t kElements = 256;
inline constexpr size_t kGroup = 256;
inline constexpr int kLargest = 1;
struct Block {
  uint8_t qs[48];
  uint8_t qh[4];
  uint8_t d[2];
};
}  // namespace rlx::formats::tq1_0

namespace rlx::formats::nvfp4 {
inline constexpr size_t kElements = 64;
inline constexpr size_t kGroup = 16;
inline constexpr int kLargest = 12;
struct Block {
  uint8_t scales[4];
  uint8_t qs[32];
};
}  // namespace rlx::formats::nvfp4

namespace rlx::formats::q1_0 {
inline constexpr size_t kElements = 128;
inline constexpr size_t kGroup = 128;
inline constexpr int kLargest = 1;
struct Block {
  uint8_t d[2];
  uint8_t qs[16];
};
}  // namespace rlx::formats::q1_0

namespace rlx::formats::q2_0 {
inline constexpr size_t kElements = 64;
inline constexpr size_t kGroup = 64;
inline constexpr int kLargest = 2;
struct Block {
  uint8_t d[2];
  uint8_t qs[16];
};
}  // namespace rlx::formats::q2_0

#define RLX_PACKED_TYPES(X) \
  X(q4_0)                   \
  X(q4_1)                   \
  X(q5_0)                   \
  X(q5_1)                   \
  X(q8_0)                   \
  X(q2_k)                   \
  X(q3_k)                   \
  X(q4_k)                   \
  X(q5_k)                   \
  X(q6_k)                   \
  X(q8_k)                   \
  X(iq4_nl)                 \
  X(iq4_xs)                 \
  X(mxfp4)                  \
  X(tq2_0)                  \
  X(iq1_s)                  \
  X(iq1_m)                  \
  X(iq2_xxs)                \
  X(iq2_xs)                 \
  X(iq2_s)                  \
  X(iq3_xxs)                \
  X(iq3_s)                  \
  X(tq1_0)                  \
  X(nvfp4)                  \
  X(q1_0)                   \
  X(q2_0)

// Those of them whose values are a scale times a whole code (Coded in block.h). Beside `unpack`
// they have `read`, `kGroup` (values that share a scale) and `kLargest` (magnitude of a code).
#define RLX_CODED_TYPES(X) \
  X(q3_k)                  \
  X(q8_k)                  \
  X(iq4_nl)                \
  X(iq4_xs)                \
  X(mxfp4)                 \
  X(tq2_0)                 \
  X(iq1_s)                 \
  X(iq1_m)                 \
  X(iq2_xxs)               \
  X(iq2_xs)                \
  X(iq2_s)                 \
  X(iq3_xxs)               \
  X(iq3_s)                 \
  X(tq1_0)                 \
  X(nvfp4)                 \
  X(q1_0)                  \
  X(q2_0)

// Those of them with whole scales (scale_whole in block.h): they have `read_whole`.
#define RLX_WHOLE_TYPES(X) \
  X(q3_k)                  \
  X(iq1_m)                 \
  X(iq2_xs)                \
  X(iq2_s)
