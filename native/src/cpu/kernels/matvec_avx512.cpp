// Few tokens (decode) against packed rows with AVX-512 VNNI. Memory is the limit, but only just:
// the vector instructions for a chunk of Q4_K take almost as long as reading it.
#include "avx512_block32.h"
#include "avx512_k.h"

namespace rlx::kernels::RLX_ISA {
namespace {

// Sixteen rows at a time share the sum of their lanes.
template <int T, class Row>
RLX_INLINE void by_sixteen(const RowsTask& task, Row one_row) {
  for (size_t r0 = 0; r0 < task.rows; r0 += W) {
    const size_t n = min_size(W, task.rows - r0);
    F totals[T][W];
    for (size_t r = 0; r < n; ++r) {
      F total[T];
      const uint8_t* row = task.w + (r0 + r) * task.row_bytes;
      if (task.prefetch != Prefetch::near) touch_next_pages(row, task.row_bytes);
      one_row(row, total);
      for (int t = 0; t < T; ++t) totals[t][r] = total[t];
    }
    for (size_t r = n; r < W; ++r) {
      for (int t = 0; t < T; ++t) totals[t][r] = fzero();
    }
    for (int t = 0; t < T; ++t) fstore(task.out + static_cast<size_t>(t) * kRowStep + r0, fsum_each(totals[t]));
  }
}

// Rows against one token, in two places: with prefetching a core waits for more lines at a time
// than in one. (Decision 18.)
template <class Pair>
RLX_INLINE void in_two_places(const RowsTask& task, Pair pair) {
  F totals[kTokenRows];
  const size_t half = task.rows / 2, apart = half * task.row_bytes;
  const uint8_t* middle = task.w + apart;
  for (size_t r = 0; r < half; ++r) {
    const uint8_t* row = task.w + r * task.row_bytes;
    pair({{row, middle, &totals[r]}, {row + apart, middle + apart, &totals[half + r]}});
  }
  for (size_t r = 0; r < task.rows; r += W) fstore(task.out + r, fsum_each(totals + r));
}

template <class Block, int T>
void rows_block32(const RowsTask& task) {
  if constexpr (T == 1) {
    if (task.prefetch == Prefetch::near && task.rows % (2 * W) == 0) {
      return in_two_places(task, [&](const Place(&places)[2]) RLX_LAMBDA {
        if (task.k % (4 * kChunk) == 0)
          pair_block32<Block, true>(task, places);
        else
          pair_block32<Block, false>(task, places);
      });
    }
  }
  by_sixteen<T>(task, [&](const uint8_t* row, F* total) RLX_LAMBDA { row_block32<Block, T>(task, row, total); });
}
template <class Block, size_t Fours>
void rows_fours45(const RowsTask& task) {
  for (size_t r0 = 0; r0 < task.rows; r0 += W) {
    const size_t n = min_size(W, task.rows - r0);
    F totals[W];
    rows_in_fours45<Block, Fours>(task, task.w + r0 * task.row_bytes, n, totals);
    for (size_t r = n; r < W; ++r) totals[r] = fzero();
    fstore(task.out + r0, fsum_each(totals));
  }
}
template <class Block, int T>
void rows_q45(const RowsTask& task) {
  if (T == 1 && task.act.tokens == 1 && task.k % (4 * kChunk) == 0) {
    switch (task.k / (4 * kChunk)) {
      case 0: break;  // rows of no length have no first four chunks
      case 1: return rows_fours45<Block, 1>(task);
      case 2: return rows_fours45<Block, 2>(task);
      case 3: return rows_fours45<Block, 3>(task);
      default: return rows_fours45<Block, kAnyFours>(task);
    }
  }
  if (task.act.tokens > 1 && task.k % (4 * kChunk) == 0)
    return by_sixteen<T>(task,
                         [&](const uint8_t* row, F* total) RLX_LAMBDA { row_in_fours45<Block, T>(task, row, total); });
  by_sixteen<T>(task, [&](const uint8_t* row, F* total) RLX_LAMBDA { row_q45<Block, T>(task, row, total); });
}
template <class Block, int T>
void rows_q6(const RowsTask& task) {
  by_sixteen<T>(task, [&](const uint8_t* row, F* total) RLX_LAMBDA { row_q6<Block, T>(task, row, total); });
}
// One after the other: in two places they would be as fast, at most.
template <class Block, int T>
void rows_in_turn(const RowsTask& task) {
  by_sixteen<T>(task, [&](const uint8_t* row, F* total) RLX_LAMBDA { row_block32<Block, T>(task, row, total); });
}
template <class Block, int T>
void rows_iq2(const RowsTask& task) {
  by_sixteen<T>(task, [&](const uint8_t* row, F* total) RLX_LAMBDA { row_iq2<Block, T>(task, row, total); });
}
template <class Block, int T>
void rows_chunks(const RowsTask& task) {
  by_sixteen<T>(task, [&](const uint8_t* row, F* total) RLX_LAMBDA { row_chunks<Block, T>(task, row, total); });
}
template <class Block, int T>
void rows_coded(const RowsTask& task) {
  const ReadChunk read = chunk_reader(task.type);
  if (read == nullptr) return;
  by_sixteen<T>(task, [&](const uint8_t* row, F* total) RLX_LAMBDA { row_coded<Block, T>(task, read, row, total); });
}
template <int T>
void rows_of(const RowsTask& task) {
  switch (task.type) {
    case Type::q8_0: return rows_block32<BlockQ8_0, T>(task);
    case Type::q4_0: return rows_block32<BlockQ4_0, T>(task);
    case Type::q4_1: return rows_block32<BlockQ4_1, T>(task);
    case Type::q5_0: return rows_block32<BlockQ5_0, T>(task);
    case Type::q5_1: return rows_block32<BlockQ5_1, T>(task);
    case Type::q4_k: return rows_q45<BlockQ4K, T>(task);
    case Type::q5_k: return rows_q45<BlockQ5K, T>(task);
    case Type::q6_k: return rows_q6<BlockQ6K, T>(task);
    case Type::q3_k: return rows_q6<BlockQ3K, T>(task);
    case Type::q2_k: return rows_q6<BlockQ2K, T>(task);
    case Type::iq2_xs: return rows_iq2<BlockIq2Xs, T>(task);
    case Type::iq2_s: return rows_iq2<BlockIq2S, T>(task);
    case Type::iq4_nl: return rows_in_turn<BlockIq4Nl, T>(task);
    case Type::mxfp4: return rows_in_turn<BlockMxfp4, T>(task);
    case Type::iq4_xs: return rows_chunks<BlockIq4Xs, T>(task);
    case Type::tq2_0: return rows_chunks<BlockTq2, T>(task);
    default: break;
  }
  if (const ReadWhole read = whole_reader(task.type)) {
    return by_sixteen<T>(task, [&](const uint8_t* row, F* total) RLX_LAMBDA { row_whole<T>(task, read, row, total); });
  }
  if (has_fine_scales(task.type)) return rows_coded<FineBlock, T>(task);
  if (coded_largest(task.type) <= kSmallLargest) return rows_coded<SmallBlock, T>(task);
  rows_coded<CodedBlock, T>(task);
}

}  // namespace

// Eight tokens, as many as a model answers at once, are faster together with K blocks: 172 billion
// operations a second of Q4_K, and 161 in two groups. (Q8_0: 106, and 109 in two groups.)
void rows_packed(const RowsTask& task) {
  if (task.t1 - task.t0 == 8) {
    switch (task.type) {
      case Type::q4_k: return rows_q45<BlockQ4K, 8>(task);
      case Type::q5_k: return rows_q45<BlockQ5K, 8>(task);
      case Type::q6_k: return rows_q6<BlockQ6K, 8>(task);
      default: break;
    }
  }
  for_few_tokens(task, [](auto tokens, const RowsTask& part) RLX_LAMBDA { rows_of<tokens>(part); });
}

}  // namespace rlx::kernels::RLX_ISA
