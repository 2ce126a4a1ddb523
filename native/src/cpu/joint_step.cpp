#include "joint_step.h"

#include <algorithm>

#include "../core/error.h"
#include "../core/joint.h"

namespace rlx {

JointStep::JointStep(std::span<Session* const> members) : members_(members.begin(), members.end()) {
  const size_t count = first().ops_.size(), threads = first().options_.threads;
  instructions_.resize(count);
  std::vector<const Op*> ops(count);
  size_t shared = 0;
  for (size_t i = 0; i < count; i++) {
    const Op& own = *first().ops_[i];
    Instruction& instruction = instructions_[i];
    ops[i] = &own;
    instruction.first_share = share_count_;
    std::vector<bool> shared_operands;
    for (const uint32_t tensor : first().plan_->instructions[i].inputs) {
      const Storage storage = tensor == kAbsent ? Storage::weight : first().plan_->tensors[tensor].storage;
      shared_operands.push_back(storage == Storage::weight || storage == Storage::constant);
    }
    if (own.joins(shared_operands)) {
      joined_.push_back(first().plan_->instructions[i].kernel->make(own.c));
      Op& op = *joined_.back();
      std::vector<const Op*> each;
      each.reserve(members_.size());
      for (const Session* member : members_) each.push_back(member->ops_[i].get());
      op.join(std::move(each));
      op.bind();
      shared = std::max(shared, align_up(op.shared_bytes, 64));
      thread_bytes_ = std::max(thread_bytes_, align_up(op.thread_bytes, 64));
      instruction.joined = &op;
      instruction.phases = op.most_phases();
      ops[i] = &op;
    } else {
      for (const Session* member : members_)
        instruction.phases = std::max(instruction.phases, member->ops_[i]->most_phases());
    }
    share_count_ += instruction.phases * threads;
  }
  // A page apart, as in a session.
  thread_bytes_ = align_up(thread_bytes_, 4096);
  scratch_.reserve(align_up(shared, 4096) + thread_bytes_ * threads);
  for (const auto& op : joined_) op->shared = scratch_.data() + thread_bytes_ * threads;
  shares_ = std::make_unique<Share[]>(share_count_);
  // Sessions share no memory that is written, so what holds for one holds for all.
  waits_ = waits_of(ops);
  for (const Session* member : members_) bindings_.push_back(member->binding_);
}

bool JointStep::is_of(std::span<Session* const> members) const {
  if (!std::equal(members_.begin(), members_.end(), members.begin(), members.end())) return false;
  for (size_t i = 0; i < members_.size(); i++)
    if (members_[i]->binding_ != bindings_[i]) return false;
  return true;
}

void JointStep::run(Pool& pool, const std::function<bool()>& cancelled) {
  for (Session* member : members_) {
    member->failure_.failed.store(false);
    member->failure_.claimed.store(false);
  }
  for (size_t i = 0; i < share_count_; i++) shares_[i].reset();
  placement_ = &pool.placement();
  cancelled_ = &cancelled;
  halt_.store(false);
  gate_.reset(first().options_.threads);
  pool.run(
      first().options_.threads, [](void* self, size_t thread) { static_cast<JointStep*>(self)->execute(thread); },
      this);
}

void JointStep::check(const Session& member) {
  if (member.failure_.failed.load()) throw Error(member.failure_.code, member.failure_.message);
}

bool JointStep::sync(size_t thread) {
  gate_.wait(*placement_, thread, [&] {
    if ((*cancelled_)()) halt_.store(true, std::memory_order_relaxed);
  });
  return !halt_.load(std::memory_order_relaxed);
}

void JointStep::execute(size_t index) {
  Thread thread{index, scratch_.data() + index * thread_bytes_, {}};
  if (const PrefetchTuner* tuner = first().options_.tuner; tuner != nullptr) thread.tuning = tuner->tuning();
  for (size_t i = 0; i < instructions_.size(); i++) {
    Instruction& instruction = instructions_[i];
    if (waits_[i] != Wait::none && !sync(index)) return;
    size_t phases = 0;
    if (instruction.joined != nullptr) {
      phases = instruction.joined->phases();
    } else {
      for (const Session* member : members_) phases = std::max(phases, member->ops_[i]->phases());
    }
    for (size_t phase = 0; phase < phases; phase++) {
      if (phase > 0 && !sync(index)) return;
      if (instruction.joined != nullptr)
        run_joined(instruction, phase, thread);
      else
        run_each(i, phase, index, thread.tuning);
    }
  }
  sync(index);
}

void JointStep::run_joined(Instruction& instruction, size_t phase, Thread& thread) {
  const size_t threads = first().options_.threads;
  Op& op = *instruction.joined;
  Shares shares(&shares_[instruction.first_share + phase * threads], threads, op.items(phase), thread.index);
  bool begun = false;
  for (size_t item; shares.take(&item);) {
    if (!begun) op.begin(phase, thread);
    begun = true;
    op.run(phase, item, thread);
  }
}

// The items of all sessions, one session behind the other. Each has scratch of its own, so a thread
// may go back and forth between them.
void JointStep::run_each(size_t at, size_t phase, size_t index, kernels::Tuning tuning) {
  const size_t threads = first().options_.threads;
  size_t ends[kMostJoined], items = 0;
  for (size_t m = 0; m < members_.size(); m++) {
    const Op& op = *members_[m]->ops_[at];
    if (phase < op.phases()) items += op.items(phase);
    ends[m] = items;
  }
  Shares shares(&shares_[instructions_[at].first_share + phase * threads], threads, items, index);
  uint64_t begun = 0;
  static_assert(kMostJoined <= 64);
  for (size_t item; shares.take(&item);) {
    const auto m = static_cast<size_t>(std::upper_bound(ends, ends + members_.size(), item) - ends);
    Session& member = *members_[m];
    Op& op = *member.ops_[at];
    Thread thread{index, member.scratch_.data() + index * member.thread_bytes_, tuning};
    if ((begun >> m & 1) == 0) op.begin(phase, thread);
    begun |= uint64_t{1} << m;
    op.run(phase, m == 0 ? item : item - ends[m - 1], thread);
  }
}

}  // namespace rlx
