// Each row by the matrix of its expert: y[t, j] = w[experts[t, j]] · x[t, j] (+ bias).
//
// One token: every thread prepares the few rows by itself, and rows of the chosen matrices are
// handed out. Many tokens: slots are sorted by expert, so that each matrix is read once for all of
// its rows; then groups are prepared, multiplied, and put back. Joined, the tokens are those of
// several sessions.
#include <algorithm>
#include <cstring>

#include "tables.h"

namespace rlx {
namespace {

using kernels::ActKind;

constexpr size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

class LinearGrouped final : public Op {
 public:
  explicit LinearGrouped(const OpContext& context) : Op(context) {
    arity(3, 4, 1);
    expect_type(c.in[0], DType::f32, "operand");
    expect_type(c.in[2], DType::i32, "experts");
    expect_type(c.out[0], DType::f32, "result");
    if (maybe(3) != nullptr) expect_type(maybe(3), DType::f32, "bias");
    if (!kernel_type(in(1).dtype, &type_))
      reject(Code::unsupported_tensor_type, "no kernel reads weights of %s", dtype_name(in(1).dtype));
    kind_ = kernels::act_kind(type_);
  }

  void bind() override {
    const Tensor &x = in(0), &w = in(1), &experts = in(2);
    expect(x.rank == 3 && w.rank == 3 && experts.rank == 2, "operands have other ranks");
    each_ = experts.shape[1];
    tokens_ = 0;
    each_member([&](const Op& member) { tokens_ += member.c.in[2]->shape[0]; });
    slots_ = tokens_ * each_;
    own_row_ = x.shape[1] == each_;
    experts_ = w.shape[0];
    n_ = w.shape[1];
    k_ = w.shape[2];
    expect((own_row_ || x.shape[1] == 1) && x.shape[2] == k_, "the operand does not fit");
    // The rows of others are checked where they are bound.
    if (!is_joined()) {
      expect(x.shape[0] == tokens_, "the operand does not fit");
      expect(out().count == slots_ * n_, "the result has another size");
    }
    expect(k_ % kernels::type_info(type_).block == 0, "a row is not whole blocks");
    if (maybe(3) != nullptr) expect(maybe(3)->count == experts_ * n_, "the bias does not fit");
    row_bytes_ = kernels::row_bytes(type_, k_);
    alone_ = tokens_ <= 1;
    const size_t row = std::max<size_t>(1, row_bytes_);
    const size_t wanted = alone_ ? std::max<size_t>(1, 65536 / row) : 64;
    chunk_ =
        ceil_div(std::max<size_t>(1, std::min(wanted, ceil_div(n_, c.threads))), kernels::kRowStep) * kernels::kRowStep;
    chunks_ = ceil_div(n_, chunk_);
    groups_ = std::min(experts_, slots_);
    const size_t single = c.kernels.act_bytes(kind_, k_, 1);
    if (alone_) {
      prepared_ = own_row_ ? slots_ : 1;
      single_ = single;
      thread_bytes = prepared_ * single + rounded(kernels::matmul_scratch_bytes(1));
      shared_bytes = 0;
      return;
    }
    take_slots();
    // A group's buffer takes at most as many bytes a row as one of a single row, or as a part of one
    // of the fewest that go through panels.
    size_t a_row = single;
    for (const size_t rows : {kernels::kGemmLeastTokens, kernels::kGemmMinTokens})
      a_row = std::max(a_row, ceil_div(c.kernels.act_bytes(kind_, k_, rows), rows));
    size_t bytes = 0;
    const auto take = [&](size_t size) {
      const size_t at = bytes;
      bytes += rounded(size);
      return at;
    };
    sorted_at_ = take(sizeof(Sorted));
    group_at_ = take(groups_ * sizeof(Group));
    order_at_ = take(slots_ * sizeof(uint32_t));
    count_at_ = take((experts_ + 1) * sizeof(uint32_t));
    rows_at_ = take(slots_ * k_ * sizeof(float));
    act_at_ = take(slots_ * a_row + groups_ * 64);
    product_at_ = take(slots_ * n_ * sizeof(float));
    shared_bytes = bytes;
    thread_bytes = rounded(std::max(kernels::matmul_scratch_bytes(slots_), kernels::matmul_scratch_bytes(1)));
    grain_ = std::max<size_t>(1, 8192 / std::max<size_t>(1, k_));
    copied_ = std::max<size_t>(1, kGrain / std::max<size_t>(1, n_));
  }

  size_t phases() const override { return alone_ ? 1 : 4; }
  size_t items(size_t phase) const override {
    if (slots_ == 0 || n_ == 0) return 0;
    if (alone_) return slots_ * chunks_;
    if (phase == 0) return 1;
    if (phase == 1) return ceil_div(slots_, grain_);
    return phase == 2 ? groups_ * chunks_ : ceil_div(slots_, copied_);
  }

  void begin(size_t, Thread& thread) override {
    if (!alone_) return;
    for (size_t row = 0; row < prepared_; row++)
      c.kernels.prepare(
          {kind_, in(0).f32() + row * k_, k_, k_, 1, 0, 1, 0, kernels::chunks_of(k_), thread.scratch + row * single_});
  }

  void run(size_t phase, size_t item, Thread& thread) override {
    if (alone_) return multiply_slot(item / chunks_, item % chunks_, thread);
    if (phase == 0) return sort();
    if (phase == 1) return prepare(item * grain_, std::min(slots_, (item + 1) * grain_));
    if (phase == 2) return multiply_group(item / chunks_, item % chunks_, thread);
    put_back(item * copied_, std::min(slots_, (item + 1) * copied_));
  }

  // The matrices that are read: at most one for each slot.
  bool joins(const std::vector<bool>& shared) const override { return shared[1] && (shared.size() < 4 || shared[3]); }
  size_t traffic() const override { return groups_ * n_ * row_bytes_ + in(0).bytes + out().bytes; }

 private:
  struct Group {
    uint32_t expert, first, rows;
    size_t act;  // where its prepared rows are
  };
  struct Sorted {
    size_t groups;
  };
  // Where a slot's operands and result are, of many tokens.
  struct Slot {
    const float* x;
    const int32_t* expert;
    float* y;
    const LinearGrouped* op;
  };

  void take_slots() {
    all_.clear();
    all_.reserve(slots_);
    each_member([&](const Op& op) {
      const auto* member = static_cast<const LinearGrouped*>(&op);
      const Tensor &x = *op.c.in[0], &experts = *op.c.in[2];
      const size_t slots = experts.shape[0] * each_;
      expect(experts.shape[1] == each_ && x.shape[0] == experts.shape[0] && x.shape[1] == (own_row_ ? each_ : 1) &&
                 x.shape[2] == k_ && op.c.out[0]->count == slots * n_,
             "the operands of sessions have other sizes");
      for (size_t slot = 0; slot < slots; slot++)
        all_.push_back({op.c.in[0]->f32() + (own_row_ ? slot : slot / each_) * k_, op.c.in[2]->i32() + slot,
                        op.c.out[0]->f32() + slot * n_, member});
    });
  }

  // Stops the run where an index is outside.
  bool is_expert(int32_t index) const {
    if (index >= 0 && static_cast<size_t>(index) < experts_) return true;
    stop("an expert's index is outside the weight");
    return false;
  }
  // Of many tokens. A slot without an expert stops its own session; the others go on, and it counts
  // for the first.
  size_t expert_of(const Slot& slot) const {
    return slot.op->is_expert(*slot.expert) ? static_cast<size_t>(*slot.expert) : 0;
  }

  kernels::MatmulArgs product(size_t expert, size_t chunk, size_t tokens, const Thread& thread) const {
    kernels::MatmulArgs args{};
    args.type = type_;
    args.w = in(1).data + expert * n_ * row_bytes_;
    args.row_bytes = row_bytes_;
    args.k = k_;
    args.n0 = chunk * chunk_;
    args.n1 = std::min(n_, args.n0 + chunk_);
    args.rows = n_;
    args.tokens = args.t1 = tokens;
    args.ldy = n_;
    args.prefetch = thread.tuning.prefetch(type_, k_);
    args.bias = maybe(3) == nullptr ? nullptr : maybe(3)->f32() + expert * n_;
    return args;
  }

  void multiply_slot(size_t slot, size_t chunk, Thread& thread) const {
    const int32_t index = in(2).i32()[slot];
    if (!is_expert(index)) return;
    kernels::MatmulArgs args = product(static_cast<size_t>(index), chunk, 1, thread);
    args.act = thread.scratch + (own_row_ ? slot : 0) * single_;
    args.y = out().f32() + slot * n_;
    c.kernels.matmul(args, thread.scratch + prepared_ * single_);
  }

  // Slots in the order of their experts, by counting.
  void sort() const {
    Sorted& sorted = *at<Sorted>(sorted_at_);
    sorted.groups = 0;
    uint32_t* count = at<uint32_t>(count_at_);
    uint32_t* order = at<uint32_t>(order_at_);
    Group* groups = at<Group>(group_at_);
    std::fill_n(count, experts_ + 1, 0);
    for (const Slot& slot : all_) count[expert_of(slot) + 1]++;
    size_t bytes = 0, made = 0;
    for (size_t expert = 0; expert < experts_; expert++) {
      const uint32_t rows = count[expert + 1];
      count[expert + 1] += count[expert];
      if (rows == 0) continue;
      groups[made++] = {static_cast<uint32_t>(expert), count[expert], rows, bytes};
      bytes += rounded(c.kernels.act_bytes(kind_, k_, rows));
    }
    for (size_t slot = 0; slot < slots_; slot++) order[count[expert_of(all_[slot])]++] = static_cast<uint32_t>(slot);
    sorted.groups = made;
  }

  // The sorted rows [from, to), which may be of several groups.
  void prepare(size_t from, size_t to) const {
    const size_t groups = at<Sorted>(sorted_at_)->groups;
    const Group* first = at<Group>(group_at_);
    const Group* group =
        std::partition_point(first, first + groups, [&](const Group& g) { return g.first + g.rows <= from; });
    for (; group < first + groups && group->first < to; group++) {
      const size_t t0 = std::max<size_t>(from, group->first), t1 = std::min<size_t>(to, group->first + group->rows);
      float* rows = at<float>(rows_at_);
      for (size_t row = t0; row < t1; row++) {
        std::memcpy(rows + row * k_, all_[at<uint32_t>(order_at_)[row]].x, k_ * sizeof(float));
      }
      c.kernels.prepare({kind_, rows + group->first * k_, k_, k_, group->rows, t0 - group->first, t1 - group->first, 0,
                         kernels::chunks_of(k_), shared + act_at_ + group->act});
    }
  }

  void multiply_group(size_t number, size_t chunk, Thread& thread) const {
    if (number >= at<Sorted>(sorted_at_)->groups) return;
    const Group& group = at<Group>(group_at_)[number];
    kernels::MatmulArgs args = product(group.expert, chunk, group.rows, thread);
    args.act = shared + act_at_ + group.act;
    args.y = at<float>(product_at_) + group.first * n_;
    c.kernels.matmul(args, thread.scratch);
  }

  void put_back(size_t from, size_t to) const {
    if (at<Sorted>(sorted_at_)->groups == 0) return;
    for (size_t row = from; row < to; row++)
      std::memcpy(all_[at<uint32_t>(order_at_)[row]].y, at<float>(product_at_) + row * n_, n_ * sizeof(float));
  }

  template <class T>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(shared + offset);
  }

  std::vector<Slot> all_;
  kernels::Type type_ = kernels::Type::f32;
  ActKind kind_ = ActKind::f32;
  bool own_row_ = false, alone_ = true;
  size_t tokens_ = 0, each_ = 0, slots_ = 0, experts_ = 0, n_ = 0, k_ = 0, row_bytes_ = 0;
  size_t chunk_ = 1, chunks_ = 0, groups_ = 0, prepared_ = 1, single_ = 0, grain_ = 1, copied_ = 1;
  size_t sorted_at_ = 0, group_at_ = 0, order_at_ = 0, count_at_ = 0, rows_at_ = 0, act_at_ = 0, product_at_ = 0;
};

constexpr KernelEntry kTable[] = {{"linear_grouped", make_op<LinearGrouped>}};

}  // namespace

std::span<const KernelEntry> linear_grouped_kernels() { return kTable; }

}  // namespace rlx
