// A plan: the whole graph as one flat list of instructions over an arena, read from the bytes that
// main/backends/cpu/planWriter.ts makes. Plans are untrusted: every index, size and string is
// checked here, and every kernel checks the shapes that it is bound to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../core/expression.h"
#include "../core/weights.h"
#include "tensor.h"

namespace rlx {

inline constexpr uint32_t kPlanMagic = 0x504c5852;  // "RXLP"
inline constexpr uint32_t kPlanVersion = 2;
inline constexpr uint32_t kAbsent = 0xffffffff;

// Where a tensor lives. `own` (outputs) and `input` get memory of their size when a run needs it.
enum class Storage : uint32_t { arena, weight, constant, state, input, own };

struct TensorPlan {
  DType dtype;
  std::vector<Expression> shape;
  Storage storage;
  uint64_t offset;    // arena: byte offset · weight: byte offset in its file · constant: byte offset in the blob
  uint64_t reserved;  // arena: bytes planned · weight, constant: bytes
  uint32_t index;     // weight: file · state, input, own: which buffer
};

struct StatePlan {
  std::string name;
  uint32_t tensor;
  int32_t axis;  // the axis that counts positions, -1 for a state without one
  bool is_ring;  // it keeps the newest of them
};

struct NamedTensor {
  std::string name;
  uint32_t tensor;
};

struct Param {
  std::string name;
  struct Value {
    double number = 0;
    int32_t expression = -1;  // index of a size, or -1 for a plain number
  };
  std::vector<Value> values;
};

struct KernelEntry;

struct Instruction {
  const KernelEntry* kernel;
  std::vector<uint32_t> inputs;  // kAbsent where an optional operand is missing
  std::vector<uint32_t> outputs;
  std::vector<Param> params;
};

class Plan {
 public:
  Plan(const uint8_t* bytes, size_t size, std::shared_ptr<Weights> weights);

  std::shared_ptr<Weights> weights;
  std::vector<std::string> symbols;
  std::vector<size_t> limits;  // largest size of each symbol, 0 when it has none (then only states may use it)
  std::vector<Expression> expressions;
  std::vector<TensorPlan> tensors;
  std::vector<StatePlan> states;
  std::vector<NamedTensor> inputs;
  std::vector<NamedTensor> outputs;
  std::vector<Instruction> instructions;
  size_t arena_bytes = 0;
  size_t own_buffers = 0;
  std::vector<uint8_t> constants;

  uint32_t symbol(const std::string& name) const;  // kAbsent when there is none
};

}  // namespace rlx
