// How chunks of coded types are read.
#include "coded.h"

#include "blocks.h"

namespace rlx::kernels::RLX_ISA {
namespace {

template <class Block, size_t kElements, size_t kGroup, class Read>
RLX_INLINE void read_chunk(const uint8_t* p, size_t n, CodedChunk& out, Read read) {
  constexpr size_t span = kGroup < 32 ? kGroup : 32, each = kElements / span, shared = kGroup / span;
  const Block* blocks = reinterpret_cast<const Block*>(p);
  const auto one = [&](size_t b) RLX_LAMBDA {
    float scales[kElements / kGroup];
    read(blocks[b], out.codes + b * kElements, scales);
    for (size_t i = 0; i < each; ++i) out.scales[b * each + i] = scales[i / shared];
  };
  if (n == kChunk) return unrolled<static_cast<int>(kChunk / kElements)>(one);
  memset(&out, 0, sizeof out);
  for (size_t b = 0; b < n / kElements; ++b) one(b);
}

}  // namespace

ReadChunk chunk_reader(Type type) {
  switch (type) {
#define RLX_READER(name)                                                                                              \
  case Type::name:                                                                                                    \
    if constexpr (!has_whole_scales(Type::name)) {                                                                    \
      return [](const uint8_t* p, size_t n, CodedChunk& out) {                                                        \
        using formats::name::Block, formats::name::kElements, formats::name::kGroup;                                  \
        read_chunk<Block, kElements, kGroup>(p, n, out, [](const Block& x, int8_t* codes, float* scales) RLX_LAMBDA { \
          formats::name::read(x, codes, scales);                                                                      \
        });                                                                                                           \
      };                                                                                                              \
    }                                                                                                                 \
    return nullptr;
    RLX_CODED_TYPES(RLX_READER)
#undef RLX_READER
    default: return nullptr;
  }
}

ReadWhole whole_reader(Type type) {
  switch (type) {
#define RLX_READER(name)                                                     \
  case Type::name:                                                           \
    return [](const uint8_t* p, size_t, WholeChunk& out) {                   \
      const auto& block = *reinterpret_cast<const formats::name::Block*>(p); \
      out.factor = formats::name::read_whole(block, out.codes, out.scales);  \
    };
    RLX_WHOLE_TYPES(RLX_READER)
#undef RLX_READER
    case Type::q2_k:
      return [](const uint8_t* p, size_t, WholeChunk& out) {
        const auto& block = *reinterpret_cast<const formats::q2_k::Block*>(p);
        out.factor = formats::q2_k::read_whole(block, out.codes, out.scales, out.minimums);
        out.unit = load_half(block.dmin);
      };
    default: return nullptr;
  }
}

}  // namespace rlx::kernels::RLX_ISA
