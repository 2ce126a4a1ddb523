// A region: a chain of element-wise steps in one instruction. Each thread takes stretches of the
// result and runs all steps over one tile of it after another, so what a step gives the next one
// never leaves the first cache. The steps are the loops of the single kernels (steps.h): the same
// bits, and one barrier instead of one for each.
#include <algorithm>
#include <cstring>
#include <string>

#include "broadcast.h"
#include "numbers.h"
#include "steps.h"
#include "tables.h"

namespace rlx {
namespace {

constexpr size_t kTile = 1024;
constexpr size_t kSlotBytes = kTile * 8;
constexpr size_t kMostSteps = 256;
constexpr size_t kMostOperands = 256;
constexpr size_t kMostValues = kMostOperands + kMostSteps;
constexpr size_t kNone = SIZE_MAX;

const StepEntry* find_step(const std::string& name) {
  for (const std::span<const StepEntry> table : {unary_steps(), binary_steps()})
    for (const StepEntry& entry : table)
      if (name == entry.name) return &entry;
  return nullptr;
}

// Parameters: one for each step, in order, called "<number> <kernel>": the values that it reads,
// operands first and then the results of steps; a cast's name ends with the type it gives. And
// `results`: the values that are the results.
class Region final : public Op {
 public:
  explicit Region(const OpContext& context) : Op(context) {
    if (c.in.empty() || c.out.empty() || c.in.size() > kMostOperands)
      reject(Code::ir_structure, "operands: got %zu in and %zu out, expected some of both", c.in.size(), c.out.size());
    arity(c.in.size(), c.in.size(), c.out.size());
    for (const Tensor* tensor : c.in) values_.push_back({.type = tensor->dtype});
    read_steps();
    read_results();
    find_slots();
  }

  void bind() override {
    thread_bytes = slots_ * kSlotBytes;
    for (const Tensor* tensor : c.out)
      expect(tensor->rank == out().rank && std::equal(tensor->shape, tensor->shape + tensor->rank, out().shape),
             "the results have different shapes");
    operands_.resize(c.in.size());
    for (size_t i = 0; i < c.in.size(); i++) {
      Operand& operand = operands_[i];
      const Tensor* const one[1] = {c.in[i]};
      expect(operand.loop.bind(out(), one), "operands do not broadcast to the result");
      operand.whole = in(i).count == out().count;
      operand.single = in(i).count == 1;
    }
  }
  size_t items(size_t) const override { return ceil_div(out().count, kGrain); }

  void run(size_t, size_t item, Thread& thread) override {
    const size_t begin = item * kGrain;
    const size_t end = std::min(out().count, begin + kGrain);
    for (size_t at = begin; at < end; at += kTile) tile(at, std::min(kTile, end - at), thread.scratch);
  }

 private:
  struct Value {
    DType type;
    size_t slot = kNone;    // where it lies; of an operand, where it is spread out
    size_t result = kNone;  // which result it is
    size_t last = 0;        // the step that reads it last
  };
  struct Step {
    const StepEntry* entry = nullptr;  // a cast where there is none
    size_t operands = 1;
    size_t in[3] = {};
  };
  struct Operand {
    Broadcast<1> loop;
    bool whole = false;   // as many elements as the result
    bool single = false;  // one element
  };
  // A value within the tile at hand.
  struct Place {
    const uint8_t* data;
    size_t step;
  };

  std::vector<Value> values_;
  std::vector<Step> steps_;
  std::vector<size_t> results_;
  std::vector<Operand> operands_;
  size_t slots_ = 0;
  bool as_ggml_ = follows_ggml();

  void read_steps() {
    for (size_t i = 0;; i++) {
      const std::string* name = c.params.starting(std::to_string(i) + " ");
      if (name == nullptr) break;
      if (i == kMostSteps) reject(Code::ir_structure, "steps: got more than %zu", kMostSteps);
      const std::vector<int64_t> from = c.params.list(name->c_str());
      const std::string kernel = name->substr(name->find(' ') + 1);
      Step step;
      step.entry = find_step(kernel);
      if (step.entry != nullptr) step.operands = step.entry->operands;
      if (from.size() != step.operands)
        reject(Code::ir_structure, "step %zu, %s: got %zu operands, expected %zu", i, kernel.c_str(), from.size(),
               step.operands);
      for (size_t j = 0; j < step.operands; j++) {
        if (from[j] < 0 || static_cast<size_t>(from[j]) >= values_.size())
          reject(Code::ir_structure, "step %zu, %s: got operand %lld, expected one of the %zu before it", i,
                 kernel.c_str(), static_cast<long long>(from[j]), values_.size());
        step.in[j] = static_cast<size_t>(from[j]);
        values_[step.in[j]].last = i;
      }
      values_.push_back({.type = step.entry == nullptr ? cast_to(kernel, i) : type_of(step, i), .last = i});
      steps_.push_back(step);
    }
    if (steps_.empty()) reject(Code::ir_structure, "there are no steps");
  }

  DType cast_to(const std::string& kernel, size_t i) const {
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64, DType::u32,
                             DType::i16, DType::i8, DType::u8, DType::boolean})
      if (kernel == std::string("cast_") + dtype_name(type)) return type;
    reject(Code::ir_structure, "step %zu: there is no %s", i, kernel.c_str());
  }

  DType type_of(const Step& step, size_t i) const {
    const DType first = values_[step.in[0]].type;
    const auto all = [&](size_t from, DType type) {
      for (size_t j = from; j < step.operands; j++)
        if (values_[step.in[j]].type != type) return false;
      return true;
    };
    switch (step.entry->types) {
      case StepTypes::numbers:
        if (is_number(first) && all(0, first)) return first;
        break;
      case StepTypes::reals:
        if ((first == DType::f32 || first == DType::f64) && all(0, first)) return first;
        break;
      case StepTypes::compare:
        if ((is_number(first) || first == DType::boolean) && all(0, first)) return DType::boolean;
        break;
      case StepTypes::logic:
        if (all(0, DType::boolean)) return DType::boolean;
        break;
      case StepTypes::choose:
        if (const DType chosen = values_[step.in[1]].type; first == DType::boolean && all(1, chosen)) return chosen;
        break;
    }
    reject(Code::ir_type, "step %zu, %s: got %s first, which is not what it takes", i, step.entry->name,
           dtype_name(first));
  }

  void read_results() {
    const std::vector<int64_t> given = c.params.list("results");
    if (given.size() != c.out.size())
      reject(Code::ir_structure, "results: got %zu, expected %zu", given.size(), c.out.size());
    for (size_t i = 0; i < given.size(); i++) {
      const auto at = static_cast<size_t>(given[i]);
      if (given[i] < static_cast<int64_t>(c.in.size()) || at >= values_.size() || values_[at].result != kNone)
        reject(Code::ir_structure, "result %zu: got value %lld, expected a step's, once", i,
               static_cast<long long>(given[i]));
      expect_type(c.out[i], values_[at].type, "result");
      values_[at].result = i;
      results_.push_back(at);
    }
  }

  // A slot is free again behind the step that reads it last. Operands that are spread out and
  // results that lie where an operand lies keep theirs.
  void find_slots() {
    std::vector<size_t> free;
    for (size_t i = 0; i < c.in.size(); i++) values_[i].slot = slots_++;
    for (size_t i = 0; i < steps_.size(); i++) {
      Value& made = values_[c.in.size() + i];
      const auto release = [&] {
        for (size_t j = 0; j < steps_[i].operands; j++) {
          const size_t from = steps_[i].in[j];
          const bool again = std::find(steps_[i].in, steps_[i].in + j, from) != steps_[i].in + j;
          if (from >= c.in.size() && values_[from].last == i && values_[from].result == kNone && !again)
            free.push_back(values_[from].slot);
        }
      };
      // A loop may write where it reads, element by element of one size.
      const bool same_size = dtype_bytes(values_[steps_[i].in[0]].type) == dtype_bytes(made.type) &&
                             dtype_bytes(values_[steps_[i].in[steps_[i].operands - 1]].type) == dtype_bytes(made.type);
      if (same_size) release();
      if (made.result == kNone && !free.empty()) {
        made.slot = free.back();
        free.pop_back();
      } else {
        made.slot = slots_++;
      }
      if (!same_size) release();
    }
  }

  // Where the tile's elements of an operand are: in place, one for all, or spread out.
  Place place(size_t i, size_t at, size_t n, uint8_t* slot) const {
    const size_t bytes = dtype_bytes(in(i).dtype);
    const Operand& operand = operands_[i];
    if (operand.single) return {in(i).data, 0};
    if (operand.whole) return {in(i).data + at * bytes, 1};
    const size_t step = operand.loop.step(0);
    Place found{slot, 1};
    operand.loop.run(at, at + n, [&](const size_t(&from)[1], size_t to, size_t m) {
      const uint8_t* data = in(i).data + from[0] * bytes;
      if (m == n)
        found = {data, step};
      else if (step != 0)
        std::memcpy(slot + (to - at) * bytes, data, m * bytes);
      else
        fill(slot + (to - at) * bytes, data, m, bytes);
    });
    return found;
  }

  static void fill(uint8_t* y, const uint8_t* x, size_t n, size_t bytes) {
    const auto each = [&]<class T>(T value) {
      std::memcpy(&value, x, sizeof(T));
      std::fill_n(reinterpret_cast<T*>(y), n, value);
    };
    switch (bytes) {
      case 1: return each(uint8_t{});
      case 2: return each(uint16_t{});
      case 4: return each(uint32_t{});
      default: return each(uint64_t{});
    }
  }

  void tile(size_t at, size_t n, uint8_t* scratch) const {
    Place places[kMostValues];
    const size_t operands = c.in.size();
    for (size_t i = 0; i < operands; i++) places[i] = place(i, at, n, scratch + values_[i].slot * kSlotBytes);
    bool kept[kMostValues] = {};
    for (size_t i = 0; i < steps_.size(); i++) {
      const Step& step = steps_[i];
      const Value& value = values_[operands + i];
      uint8_t* y = scratch + value.slot * kSlotBytes;
      if (value.result != kNone) {
        kept[value.result] = lies_on_operand(value.result);
        if (!kept[value.result]) y = out(value.result).data + at * dtype_bytes(value.type);
      }
      run_step(step, places, y, value.type, n);
      places[operands + i] = {y, 1};
    }
    for (size_t i = 0; i < results_.size(); i++) {
      const size_t bytes = dtype_bytes(out(i).dtype);
      if (kept[i]) std::memcpy(out(i).data + at * bytes, places[results_[i]].data, n * bytes);
    }
  }

  // The operand may still be read behind the step that makes the result.
  bool lies_on_operand(size_t result) const {
    return std::any_of(c.in.begin(), c.in.end(),
                       [&](const Tensor* tensor) { return tensor->data == out(result).data; });
  }

  void run_step(const Step& step, const Place* places, uint8_t* y, DType made, size_t n) const {
    const DType type = values_[step.in[step.operands - 1]].type;
    // Of one element for all: made once.
    const bool once = step.operands == 1 && places[step.in[0]].step == 0;
    const size_t count = once ? 1 : n;
    if (step.entry == nullptr) {
      cast_stretch(c.kernels, type, places[step.in[0]].data, made, y, count);
    } else {
      Stretch stretch{c.kernels, type, as_ggml_, {}, {}, y, count};
      for (size_t j = 0; j < step.operands; j++) {
        stretch.in[j] = places[step.in[j]].data;
        stretch.step[j] = places[step.in[j]].step;
      }
      step.entry->run(stretch);
    }
    if (once) fill(y, y, n, dtype_bytes(made));
  }
};

constexpr KernelEntry kTable[] = {{"elementwise_region", make_op<Region>}};

}  // namespace

std::span<const KernelEntry> region_kernels() { return kTable; }

}  // namespace rlx
