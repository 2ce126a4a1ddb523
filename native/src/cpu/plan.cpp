#include "plan.h"

#include <cstring>

#include "../core/error.h"
#include "../core/reader.h"
#include "kernel.h"

namespace rlx {
namespace {

constexpr size_t kMany = 4u << 20;

Instruction read_instruction(Reader& in, const Plan& plan, const std::vector<std::string>& names) {
  Instruction instruction;
  const std::string& name = names[in.index(names.size(), "kernel name")];
  instruction.kernel = find_kernel(name.c_str());
  if (instruction.kernel == nullptr) fail(Code::unsupported_op, "[plan] no kernel named %s", name.c_str());
  const auto operands = [&](std::vector<uint32_t>& list, bool optional) {
    const size_t count = in.count(4, 4096);
    for (size_t i = 0; i < count; i++) {
      const uint32_t tensor = in.u32();
      if (tensor >= plan.tensors.size() && !(optional && tensor == kAbsent)) Reader::bad("an operand does not exist");
      list.push_back(tensor);
    }
  };
  operands(instruction.inputs, true);
  operands(instruction.outputs, false);
  for (const uint32_t tensor : instruction.outputs) {
    const Storage storage = plan.tensors[tensor].storage;
    if (storage == Storage::weight || storage == Storage::constant || storage == Storage::input)
      Reader::bad("an instruction writes to what may only be read");
  }
  const size_t params = in.count(8, 320);  // one for each step of a region
  for (size_t i = 0; i < params; i++) {
    Param param;
    param.name = names[in.index(names.size(), "parameter name")];
    const size_t values = in.count(12, 65536);
    for (size_t v = 0; v < values; v++) {
      Param::Value value;
      value.number = in.f64();
      const uint32_t expression = in.u32();
      if (expression != kAbsent) {
        if (expression >= plan.expressions.size()) Reader::bad("a parameter names a size that does not exist");
        value.expression = static_cast<int32_t>(expression);
      }
      param.values.push_back(value);
    }
    instruction.params.push_back(std::move(param));
  }
  return instruction;
}

TensorPlan read_tensor(Reader& in, const Plan& plan) {
  TensorPlan tensor;
  const uint32_t dtype = in.index(kDTypes, "element type");
  tensor.dtype = static_cast<DType>(dtype);
  const size_t rank = in.count(4, kMaxRank);
  for (size_t i = 0; i < rank; i++) tensor.shape.push_back(plan.expressions[in.index(plan.expressions.size(), "size")]);
  const uint32_t storage = in.index(6, "storage");
  tensor.storage = static_cast<Storage>(storage);
  tensor.index = in.u32();
  tensor.offset = in.u64();
  tensor.reserved = in.u64();
  return tensor;
}

// Weights and constants have fixed sizes: they are checked once, here.
void check_fixed(const Plan& plan, const TensorPlan& tensor) {
  const std::vector<size_t> none;
  size_t elements = 1;
  for (const Expression& dim : tensor.shape) {
    for (const Expression::Term& term : dim.terms)
      if (!term.symbols.empty()) Reader::bad("a weight or constant has a symbolic size");
    if (__builtin_mul_overflow(elements, dim.evaluate(none), &elements)) Reader::bad("a tensor is too large");
  }
  const size_t bytes = storage_bytes(tensor.dtype, elements);
  if (bytes != tensor.reserved)
    fail(Code::ir_structure, "[plan] a tensor has %llu bytes, expected %zu",
         static_cast<unsigned long long>(tensor.reserved), bytes);
  if (tensor.storage == Storage::constant) {
    if (tensor.offset > plan.constants.size() || bytes > plan.constants.size() - tensor.offset ||
        tensor.offset % 16 != 0)
      Reader::bad("a constant is outside the data");
    return;
  }
  if (!plan.weights) fail(Code::input_argument, "[plan] it needs weights and none were given");
  plan.weights->at(tensor.index, tensor.offset, bytes);
}

void check_tensor(const Plan& plan, const TensorPlan& tensor) {
  switch (tensor.storage) {
    case Storage::arena:
      if (tensor.offset % 64 != 0 || tensor.offset > plan.arena_bytes ||
          tensor.reserved > plan.arena_bytes - tensor.offset)
        Reader::bad("a tensor is outside the arena");
      break;
    case Storage::weight:
    case Storage::constant: check_fixed(plan, tensor); break;
    case Storage::state:
      if (tensor.index >= plan.states.size()) Reader::bad("a tensor names a state that does not exist");
      break;
    case Storage::input:
      if (tensor.index >= plan.inputs.size()) Reader::bad("a tensor names an input that does not exist");
      break;
    case Storage::own:
      if (tensor.index >= plan.own_buffers) Reader::bad("a tensor names a buffer that does not exist");
      break;
  }
  if (is_packed(tensor.dtype) && tensor.storage != Storage::weight && tensor.storage != Storage::constant)
    Reader::bad("only weights may be packed");
}

}  // namespace

Plan::Plan(const uint8_t* bytes, size_t size, std::shared_ptr<Weights> given) : weights(std::move(given)) {
  Reader in(bytes, size);
  if (in.u32() != kPlanMagic) Reader::bad("it is no plan");
  if (const uint32_t version = in.u32(); version != kPlanVersion)
    fail(Code::ir_structure, "[plan] version: got %u, expected %u", version, kPlanVersion);
  arena_bytes = in.u64();
  if (arena_bytes > (uint64_t{1} << 46)) Reader::bad("the arena is too large");
  own_buffers = in.count(0 + 1, kMany);

  std::vector<std::string> names;
  const size_t name_count = in.count(4, kMany);
  names.reserve(name_count);
  for (size_t i = 0; i < name_count; i++) names.push_back(in.text());
  const size_t symbol_count = in.count(12, 1024);
  for (size_t i = 0; i < symbol_count; i++) {
    symbols.push_back(names[in.index(names.size(), "symbol name")]);
    limits.push_back(in.u64());
  }
  const size_t expression_count = in.count(4, kMany);
  for (size_t i = 0; i < expression_count; i++) expressions.push_back(read_expression(in, symbols.size()));

  const auto named = [&](std::vector<NamedTensor>& list) {
    const size_t count = in.count(8, kMany);
    for (size_t i = 0; i < count; i++) {
      std::string name = names[in.index(names.size(), "name")];
      list.push_back({std::move(name), in.u32()});
    }
  };
  const size_t state_count = in.count(16, kMany);
  for (size_t i = 0; i < state_count; i++) {
    StatePlan state;
    state.name = names[in.index(names.size(), "state name")];
    state.tensor = in.u32();
    state.axis = static_cast<int32_t>(in.u32());
    state.is_ring = in.index(2, "kind of state") == 1;
    states.push_back(std::move(state));
  }
  named(inputs);
  named(outputs);

  const uint64_t constant_bytes = in.u64();
  const uint8_t* blob = in.blob(constant_bytes);
  constants.assign(blob, blob + constant_bytes);
  constants.reserve(1);

  const size_t tensor_count = in.count(32, kMany);
  for (size_t i = 0; i < tensor_count; i++) {
    tensors.push_back(read_tensor(in, *this));
    check_tensor(*this, tensors.back());
  }
  for (size_t i = 0; i < states.size(); i++) {
    const StatePlan& state = states[i];
    if (state.tensor >= tensors.size() || tensors[state.tensor].storage != Storage::state ||
        tensors[state.tensor].index != i)
      Reader::bad("a state names a tensor that is not its own");
    if (state.axis < -1 || state.axis >= static_cast<int32_t>(tensors[state.tensor].shape.size()))
      Reader::bad("a state counts positions on an axis that it lacks");
  }
  for (size_t i = 0; i < inputs.size(); i++)
    if (inputs[i].tensor >= tensors.size() || tensors[inputs[i].tensor].storage != Storage::input ||
        tensors[inputs[i].tensor].index != i)
      Reader::bad("an input names a tensor that is not its own");
  for (const NamedTensor& output : outputs)
    if (output.tensor >= tensors.size() || is_packed(tensors[output.tensor].dtype))
      Reader::bad("an output does not exist");
  const size_t instruction_count = in.count(16, kMany);
  for (size_t i = 0; i < instruction_count; i++) instructions.push_back(read_instruction(in, *this, names));
  if (!in.done()) Reader::bad("bytes are left over");
}

uint32_t Plan::symbol(const std::string& name) const {
  for (size_t i = 0; i < symbols.size(); i++)
    if (symbols[i] == name) return static_cast<uint32_t>(i);
  return kAbsent;
}

}  // namespace rlx
