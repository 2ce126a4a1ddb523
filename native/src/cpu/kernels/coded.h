// Coded types (core/formats/block.h). With a scale for 32 values or more, a chunk of a row becomes
// eight 32-blocks of bytes with their scales, and the kernels of Q8_0 take those; with fine scales
// (of 16 values) it has two scales for each block. With whole scales of 16 values it becomes bytes
// and scales as Q6_K has them, and Q2_K becomes the same with whole minimums.
#pragma once

#include "internal.h"

namespace rlx::kernels::RLX_ISA {

struct CodedBlock {
  int8_t qs[32];
};
struct alignas(64) CodedChunk {
  int8_t codes[kChunk];
  float scales[16];  // of 32 values, with fine scales of 16

  const CodedBlock* blocks() const { return reinterpret_cast<const CodedBlock*>(codes); }
};
// The chunk whose first block this is.
RLX_INLINE const CodedChunk& chunk_of(const CodedBlock* first) { return *reinterpret_cast<const CodedChunk*>(first); }

// Reads a chunk of `n` values, whole blocks; codes and scales are zero behind n.
using ReadChunk = void (*)(const uint8_t* p, size_t n, CodedChunk& out);
// Null for types that have no such form.
ReadChunk chunk_reader(Type);

// value = factor * scale * code - unit * minimum; a scale and a minimum for each 16 (minimums and
// their unit: Q2_K only). What a scale times a code comes to is in
// activations.h. k is whole chunks.
struct alignas(64) WholeChunk {
  int8_t codes[kChunk];
  int8_t scales[16];
  int8_t minimums[16];
  float factor, unit;
};
using ReadWhole = void (*)(const uint8_t* p, size_t n, WholeChunk& out);
RLX_INLINE bool has_minimums16(Type t) { return t == Type::q2_k; }
// Null for types that have no such form.
ReadWhole whole_reader(Type);

// add(chunk, c) for every chunk of a row. A chunk is read while the one before it is multiplied:
// its bytes must have left for the cache when they are loaded as vectors.
template <class Chunk, class Add>
RLX_INLINE void each_read_chunk(const RowsTask& task, void (*read_chunk)(const uint8_t*, size_t, Chunk&),
                                const uint8_t* row, Add add) {
  const size_t chunks = chunks_of(task.k), bytes = row_bytes(task.type, kChunk);
  const auto read = [&](size_t c, Chunk& to) RLX_LAMBDA {
    for (size_t line = 0; line < bytes; line += 64) prefetch_ahead<64>(task.prefetch, row + c * bytes + line);
    read_chunk(row + c * bytes, min_size(kChunk, task.k - c * kChunk), to);
  };
  if (chunks == 0) return;
  Chunk turns[2];
  read(0, turns[0]);
  for (size_t c = 0; c < chunks; ++c) {
    if (c + 1 < chunks) read(c + 1, turns[(c + 1) % 2]);
    add(turns[c % 2], c);
  }
}

}  // namespace rlx::kernels::RLX_ISA
