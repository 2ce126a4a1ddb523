// A plan for MLX: leaves, then a flat list of calls over numbered values, read from the bytes that
// main/backends/mlx/planWriter.ts makes. Sub-graphs are further lists of the same kind. Plans are
// untrusted: every index, size and name is checked here, and each call's result is compared with
// the type in the plan.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../core/dtype.h"
#include "../core/expression.h"
#include "../core/weights.h"

namespace rlx::gpu {

inline constexpr uint32_t kMagic = 0x4d584c52;  // "RLXM"
inline constexpr uint32_t kVersion = 2;
inline constexpr uint32_t kNone = 0xffffffff;

struct Type {
  DType dtype = DType::f32;
  std::vector<uint32_t> sizes;  // indices of expressions
};

struct InputPlan {
  std::string name;
  Type type;
  uint64_t limit = 0;  // whole numbers below this only: they index a table; 0 when anything goes
};

struct StatePlan {
  std::string name;
  Type type;
  int32_t axis = -1;     // the axis that counts positions, -1 for a state without one
  bool is_ring = false;  // it keeps the newest of them
  uint32_t next = 0;     // value after the run
};

struct WeightPlan {
  std::string name;
  DType dtype = DType::f32;
  std::vector<size_t> shape;
  uint32_t file = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct ConstantPlan {
  DType dtype = DType::f32;
  std::vector<size_t> shape;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Rows that a run writes into a cache: checked against its capacity before anything runs.
struct AppendPlan {
  uint32_t past;      // input, i32 of one element
  uint32_t tokens;    // expression
  uint32_t capacity;  // expression
  uint32_t reach;     // of a ring: rows before the step that are read; kNone for a whole cache
};

struct Attribute {
  std::string name;
  struct Item {
    double number = 0;
    uint32_t size = kNone;  // expression instead of the number
  };
  std::vector<Item> items;
  std::string text;
};

struct Function;

struct Call {
  const Function* function = nullptr;
  std::vector<uint32_t> inputs;
  std::vector<Type> outputs;
  uint32_t first = 0;  // value of the first output
  std::vector<Attribute> attributes;
  std::vector<uint32_t> last;  // values that nothing reads after this call
};

struct Body {
  uint32_t arguments = 0;
  uint32_t values = 0;
  std::vector<Call> calls;
  std::vector<uint32_t> results;
};

class Plan {
 public:
  Plan(const uint8_t* bytes, size_t size, std::shared_ptr<Weights> weights);

  std::shared_ptr<Weights> weights;
  std::vector<std::string> symbols;
  std::vector<size_t> limits;
  std::vector<Expression> expressions;
  std::vector<InputPlan> inputs;
  std::vector<StatePlan> states;
  std::vector<WeightPlan> params;
  std::vector<ConstantPlan> constants;
  std::vector<uint8_t> data;  // of the constants
  std::vector<AppendPlan> appends;
  uint32_t growing = kNone;  // the symbol that the length of caches has: they grow as they fill
  // bodies[0] is the graph; its arguments are inputs, states, weights and constants in this order.
  std::vector<Body> bodies;
  struct Output {
    std::string name;
    uint32_t value;
    Type type;
  };
  std::vector<Output> outputs;

  uint32_t symbol(const std::string& name) const;
};

}  // namespace rlx::gpu
