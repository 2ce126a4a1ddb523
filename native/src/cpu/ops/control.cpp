// Branches, jumps and loop counters. They have no items: the last thread to arrive decides for all
// (Session::execute), so every thread goes the same way and no turn overlaps the next.
#include "tables.h"

namespace rlx {
namespace {

class Control : public Op {
 public:
  explicit Control(const OpContext& context) : Op(context) {
    target_ = c.params.size("target", 0);
    if (!c.params.has("target")) reject(Code::ir_structure, "parameter target is missing");
  }
  void bind() override {}
  size_t items(size_t) const override { return 0; }
  void run(size_t, size_t, Thread&) override {}
  size_t traffic() const override { return 0; }
  bool controls() const override { return true; }
  size_t target() const override { return target_; }

 protected:
  size_t target_ = 0;
};

class Branch final : public Control {
 public:
  explicit Branch(const OpContext& context) : Control(context) {
    arity(1, 1, 0);
    expect_type(c.in[0], DType::boolean, "flag");
  }
  void bind() override { expect(in(0).count == 1, "the flag is not a single value"); }
  size_t decide(size_t at) override { return *in(0).data != 0 ? at + 1 : target_; }
};

class Jump final : public Control {
 public:
  explicit Jump(const OpContext& context) : Control(context) { arity(0, 0, 0); }
  size_t decide(size_t) override { return target_; }
};

class Loop final : public Op {
 public:
  explicit Loop(const OpContext& context) : Op(context) {
    arity(0, 0, 1);
    expect_type(c.out[0], DType::i64, "counter");
  }
  void bind() override { expect(out().count == 1, "the counter is not a single value"); }
  size_t items(size_t) const override { return 0; }
  void run(size_t, size_t, Thread&) override {}
  size_t traffic() const override { return 0; }
  bool controls() const override { return true; }
  size_t decide(size_t at) override {
    *out().as<int64_t>() = 0;
    return at + 1;
  }
};

class LoopLimit final : public Control {
 public:
  explicit LoopLimit(const OpContext& context) : Control(context) {
    arity(1, 1, 1);
    expect_type(c.in[0], DType::i64, "counter");
    expect_type(c.out[0], DType::i64, "counter");
  }
  void bind() override {
    expect(in(0).count == 1 && out().count == 1, "the counter is not a single value");
    expect(c.params.has("most"), "parameter most is missing");
    most_ = c.params.integer("most", 0, 0, int64_t{1} << 46);
  }
  size_t decide(size_t at) override {
    const int64_t turns = *in(0).as<int64_t>();
    if (turns >= most_) return target_;
    *out().as<int64_t>() = turns + 1;
    return at + 1;
  }

 private:
  int64_t most_ = 0;
};

constexpr KernelEntry kTable[] = {
    {"branch", make_op<Branch>}, {"jump", make_op<Jump>}, {"loop", make_op<Loop>}, {"loop_limit", make_op<LoopLimit>}};

}  // namespace

std::span<const KernelEntry> control_kernels() { return kTable; }

}  // namespace rlx
