// NumPy broadcasting as loops over runs: dims that behave alike are merged, and what is left of the
// last dim is one run in which every operand either advances by one or stands still.
#pragma once

#include <algorithm>
#include <cstddef>

#include "../tensor.h"

namespace rlx {

template <size_t kOperands>
class Broadcast {
 public:
  // False when an operand does not broadcast to `out`.
  bool bind(const Tensor& out, const Tensor* const (&operands)[kOperands]) {
    rank_ = 0;
    count_ = out.count;
    for (size_t d = 0; d < out.rank; d++) {
      size_t stride[kOperands];
      for (size_t o = 0; o < kOperands; o++) {
        const Tensor& in = *operands[o];
        if (in.rank > out.rank) return false;
        const size_t lead = out.rank - in.rank;
        const size_t size = d < lead ? 1 : in.shape[d - lead];
        if (size != 1 && size != out.shape[d]) return false;
        stride[o] = size == 1 ? 0 : in.span(d - lead + 1, in.rank);
      }
      if (out.shape[d] == 1) continue;
      bool merge = rank_ > 0;
      for (size_t o = 0; merge && o < kOperands; o++) merge = strides_[o][rank_ - 1] == stride[o] * out.shape[d];
      if (merge) {
        shape_[rank_ - 1] *= out.shape[d];
      } else {
        shape_[rank_++] = out.shape[d];
      }
      for (size_t o = 0; o < kOperands; o++) strides_[o][rank_ - 1] = stride[o];
    }
    if (rank_ == 0) {
      shape_[0] = 1;
      for (size_t o = 0; o < kOperands; o++) strides_[o][0] = 0;
      rank_ = 1;
    }
    return true;
  }

  size_t count() const { return count_; }
  // 0 or 1 along a run.
  size_t step(size_t operand) const { return strides_[operand][rank_ - 1]; }

  // visit(at[kOperands], out, n) for the output elements [begin, end).
  template <class Visit>
  void run(size_t begin, size_t end, Visit&& visit) const {
    const size_t inner = shape_[rank_ - 1];
    while (begin < end) {
      size_t at[kOperands] = {};
      size_t rest = begin;
      for (size_t d = rank_; d-- > 0;) {
        const size_t index = rest % shape_[d];
        rest /= shape_[d];
        for (size_t o = 0; o < kOperands; o++) at[o] += index * strides_[o][d];
      }
      const size_t n = std::min(end - begin, inner - begin % inner);
      visit(at, begin, n);
      begin += n;
    }
  }

 private:
  size_t rank_ = 0;
  size_t count_ = 0;
  size_t shape_[kMaxRank] = {};
  size_t strides_[kOperands][kMaxRank] = {};
};

}  // namespace rlx
