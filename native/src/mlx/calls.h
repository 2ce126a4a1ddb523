// The functions that a plan may call: each builds MLX arrays. The list has the same names as
// main/backends/mlx/functions.ts (a test compares them).
#pragma once

#include <mlx/array.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "plan.h"

namespace rlx::gpu {

namespace mx = mlx::core;

// A weight as MLX holds it: plain, or in its group quantisation (scale · q + bias per 32 elements).
struct Held {
  mx::array plain;                  // the codes when packed
  std::optional<mx::array> scales;  // f32
  std::optional<mx::array> biases;
  int bits = 0;
  int rows = 0;
  bool packed() const { return scales.has_value(); }
};

// An operand: a computed value, or a weight.
struct Operand {
  const mx::array* array = nullptr;
  const Held* weight = nullptr;  // packed ones only
};

struct Scope;

struct Invocation {
  const Call& call;
  const std::vector<size_t>& sizes;  // every expression's value in this run
  const std::vector<Operand>& inputs;
  Scope& scope;
  size_t sessions = 1;  // whose rows the operands hold, one behind the other

  const mx::array& in(size_t index) const;
  bool has(size_t index) const { return index < inputs.size(); }
  const Attribute* find(const char* name) const;
  double number(const char* name) const;
  double number(const char* name, double otherwise) const;
  int whole(const char* name) const;
  bool flag(const char* name) const { return number(name, 0) != 0; }
  std::vector<int> list(const char* name) const;
  mx::Shape shape(size_t output = 0) const;
  mx::Dtype dtype(size_t output = 0) const;
};

// How a call may take the rows of several sessions at once: rows are along the first axis of its
// result.
enum class Joins : uint8_t {
  no,
  rows,       // each operand has rows, or is a weight
  broadcast,  // each operand has rows, or is broadcast against them
};

struct Function {
  const char* name;
  size_t least;
  size_t most;
  std::vector<mx::array> (*run)(const Invocation&);
  Joins joins = Joins::no;
  uint32_t weights = 0;  // bits of the operands that rows of several sessions must have in common
  bool has_bodies = false;
};

// The calls of calls/elementwise.cpp all join by broadcasting.
Joins joins_of(const Function& function);
const Function* find_function(const std::string& name);
std::vector<const char*> function_names();

mx::Dtype mlx_type(DType type);
// Of the rows of several sessions, the first axis is as many times as long.
mx::Shape bind_shape(const Type& type, const std::vector<size_t>& sizes, size_t sessions = 1);

// Keeps traces of sub-graphs.
class Tracer {
 public:
  virtual std::vector<mx::array> replay(uint32_t body, const std::vector<Operand>& arguments,
                                        const std::vector<size_t>& sizes) = 0;

 protected:
  ~Tracer() = default;
};

// How a body runs. `traced`: inside a compiled function, where no value is known yet.
struct Scope {
  const Plan& plan;
  const std::vector<size_t>& sizes;
  bool traced = false;
  Tracer* tracer = nullptr;                   // outside of a trace: replays sub-graphs that can be traced
  const std::atomic<bool>* cancel = nullptr;  // read between turns
  int depth = 0;                              // of sub-graphs in sub-graphs
  // Runs a sub-graph on operands.
  std::vector<mx::array> run(uint32_t body, const std::vector<Operand>& arguments);
};

}  // namespace rlx::gpu
