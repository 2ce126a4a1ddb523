// An Op is an instruction in a session: bound to tensors, its work cut into items. All threads walk
// the same list of ops and take items one by one, so a slow thread does not delay the others for
// long.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../core/error.h"
#include "plan.h"
#include "tensor.h"
#include "tuning/product_trials.h"

namespace rlx {

// The first failure of a run, on any thread.
struct Failure {
  std::atomic<bool> claimed{false};
  std::atomic<bool> failed{false};  // set after code and message are written
  Code code = Code::run_failed;
  std::string message;
};

struct Thread {
  size_t index;
  uint8_t* scratch;  // private, 64-byte aligned, as large as the largest Op::thread_bytes
  kernels::Tuning tuning;
  // Items that take long look at it; null where a session is one of several.
  const std::atomic<bool>* cancel = nullptr;
};

// Reads parameters of one instruction. Sizes are evaluated with the symbols of the current run.
class Params {
 public:
  Params(const Plan& plan, const Instruction& instruction, const std::vector<size_t>& symbols)
      : plan_(plan), instruction_(instruction), symbols_(symbols) {}

  bool has(const char* name) const { return find(name) != nullptr; }
  double number(const char* name, double otherwise) const;
  bool flag(const char* name) const { return number(name, 0) != 0; }
  // A whole number in [low, high], which may be symbolic.
  int64_t integer(const char* name, int64_t otherwise, int64_t low, int64_t high) const;
  size_t size(const char* name, size_t otherwise) const {
    return static_cast<size_t>(integer(name, static_cast<int64_t>(otherwise), 0, int64_t{1} << 46));
  }
  std::vector<int64_t> list(const char* name) const;  // whole numbers
  std::vector<double> numbers(const char* name) const;
  // The first parameter whose name starts so; null where there is none.
  const std::string* starting(const std::string& prefix) const;

 private:
  const Param* find(const char* name) const;
  double value(const Param::Value& value) const;

  const Plan& plan_;
  const Instruction& instruction_;
  const std::vector<size_t>& symbols_;
};

// Everything an op sees when it is made.
struct OpContext {
  const char* name;
  std::vector<Tensor*> in;  // null where an optional operand is missing
  std::vector<Tensor*> out;
  Params params;
  const kernels::Dispatch& kernels;
  size_t threads;
  Failure* failure;
};

class Op {
 public:
  explicit Op(const OpContext& context) : c(context) {}
  virtual ~Op() = default;
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  // Called when sizes are known or have changed: checks shapes and plans the work.
  virtual void bind() = 0;
  virtual size_t phases() const { return 1; }
  // Upper bound, where the number of phases depends on values.
  virtual size_t most_phases() const { return phases(); }
  // Called by every thread when the phase starts; must depend on tensors and sizes only.
  virtual size_t items(size_t phase) const = 0;
  // Called once on each thread that gets an item of the phase, before its first one.
  virtual void begin(size_t, Thread&) {}
  virtual void run(size_t phase, size_t item, Thread& thread) = 0;
  // True for branches and jumps: one thread calls `decide` while all others wait, and gets the next
  // instruction. `target` is where it may jump to; behind the last instruction is the end.
  virtual bool controls() const { return false; }
  virtual size_t decide(size_t at) { return at + 1; }
  virtual size_t target() const { return 0; }
  // After bind(): the products whose items can be timed for the tuner; none for many tokens.
  virtual std::vector<TunedProduct> products() const { return {}; }
  // Bytes that one run reads from weights and caches: the profile computes bandwidth from them.
  virtual size_t traffic() const;
  // True for products with weights: an op of the same instruction, made anew, can take the rows of
  // several sessions at once, so that the weights are read once for all of them. `shared` tells of
  // each operand whether all sessions of the plan have the same.
  virtual bool joins(const std::vector<bool>&) const { return false; }
  // Before bind(): these ops of the same instruction, each bound in its session, give the operands
  // and take the results instead of this op's own.
  void join(std::vector<const Op*> members) { members_ = std::move(members); }

  // Set by bind().
  size_t thread_bytes = 0;  // private scratch
  size_t shared_bytes = 0;  // scratch shared by all threads, valid between the phases of this op only
  uint8_t* shared = nullptr;

  OpContext c;

 protected:
  [[noreturn]] __attribute__((format(printf, 3, 4))) void reject(Code code, const char* format, ...) const;
  void expect(bool condition, const char* what) const {
    if (!condition) reject(Code::ir_shape, "%s", what);
  }
  void expect_type(const Tensor* tensor, DType type, const char* what) const {
    if (tensor == nullptr || tensor->dtype != type)
      reject(Code::ir_type, "%s: got %s, expected %s", what, tensor == nullptr ? "nothing" : dtype_name(tensor->dtype),
             dtype_name(type));
  }
  void arity(size_t min_in, size_t max_in, size_t outputs) const;
  const Tensor& in(size_t i) const { return *c.in[i]; }
  const Tensor& out(size_t i = 0) const { return *c.out[i]; }
  const Tensor* maybe(size_t i) const { return i < c.in.size() ? c.in[i] : nullptr; }
  // True if sums and roundings follow ggml: only on processors where its order is known.
  bool follows_ggml() const { return c.params.flag("asGgml") && kernels::is_x86(c.kernels.isa); }
  // A run-time failure (a bad index): the run ends with this message. Safe on any thread.
  void stop(const char* message, Code code = Code::run_failed) const;
  // Calls visit(op) for each op whose rows this one takes, in order: itself unless it was joined.
  template <class Visit>
  void each_member(Visit&& visit) const {
    if (members_.empty()) return visit(*this);
    for (const Op* member : members_) visit(*member);
  }
  bool is_joined() const { return !members_.empty(); }

 private:
  std::vector<const Op*> members_;
};

struct KernelEntry {
  const char* name;
  std::unique_ptr<Op> (*make)(const OpContext&);
};

template <class T>
std::unique_ptr<Op> make_op(const OpContext& context) {
  return std::make_unique<T>(context);
}

const KernelEntry* find_kernel(const char* name);
// All names, in the order of the tables.
std::vector<const char*> kernel_names();

// Elements per work item of simple loops.
inline constexpr size_t kGrain = 16384;
constexpr size_t ceil_div(size_t a, size_t b) { return (a + b - 1) / b; }

}  // namespace rlx
