#include "plan.h"

#include <algorithm>

#include "../core/error.h"
#include "../core/reader.h"
#include "calls.h"

namespace rlx::gpu {
namespace {

constexpr size_t kMany = 4u << 20;

DType read_dtype(Reader& in) { return static_cast<DType>(in.index(kDTypes, "element type")); }

Type read_type(Reader& in, size_t expressions) {
  Type type;
  type.dtype = read_dtype(in);
  if (is_packed(type.dtype)) Reader::bad("a computed value is packed");
  const size_t rank = in.count(4, 16);
  for (size_t i = 0; i < rank; i++) type.sizes.push_back(in.index(expressions, "size"));
  return type;
}

std::vector<size_t> read_shape(Reader& in) {
  std::vector<size_t> shape;
  const size_t rank = in.count(8, 16);
  for (size_t i = 0; i < rank; i++) {
    const uint64_t size = in.u64();
    if (size > 0x7fffffff) Reader::bad("an axis is too long");
    shape.push_back(size);
  }
  return shape;
}

size_t bytes_of(DType dtype, const std::vector<size_t>& shape) {
  size_t count = 1;
  for (const size_t size : shape)
    if (__builtin_mul_overflow(count, size, &count) || count > (size_t{1} << 48)) Reader::bad("a tensor is too large");
  return storage_bytes(dtype, count);
}

}  // namespace

Plan::Plan(const uint8_t* bytes, size_t size, std::shared_ptr<Weights> files) : weights(std::move(files)) {
  Reader in(bytes, size);
  if (in.u32() != kMagic || in.u32() != kVersion)
    fail(Code::ir_structure, "[plan] not a plan of this version: the addon and the program differ");
  std::vector<std::string> names(in.count(4, kMany));
  for (std::string& name : names) name = in.text();
  const auto name = [&]() -> const std::string& { return names[in.index(names.size(), "name")]; };

  const size_t symbol_count = in.count(12, 4096);
  for (size_t i = 0; i < symbol_count; i++) {
    symbols.push_back(name());
    limits.push_back(in.u64());
  }
  const size_t size_count = in.count(4, kMany);
  for (size_t i = 0; i < size_count; i++) expressions.push_back(read_expression(in, symbols.size()));
  growing = in.u32();
  if (growing != kNone && growing >= symbols.size()) Reader::bad("the growing symbol is none");

  inputs.resize(in.count(16, kMany));
  for (InputPlan& input : inputs) {
    input.name = name();
    input.type = read_type(in, expressions.size());
    input.limit = in.u64();
  }
  states.resize(in.count(20, kMany));
  for (StatePlan& state : states) {
    state.name = name();
    state.type = read_type(in, expressions.size());
    const uint32_t axis = in.u32();
    if (axis != kNone && axis >= state.type.sizes.size()) Reader::bad("a state's axis is none of its own");
    state.axis = axis == kNone ? -1 : static_cast<int32_t>(axis);
    state.is_ring = in.index(2, "kind of state") == 1;
  }
  params.resize(in.count(32, kMany));
  for (WeightPlan& param : params) {
    param.name = name();
    param.dtype = read_dtype(in);
    param.shape = read_shape(in);
    param.file = in.u32();
    param.offset = in.u64();
    param.bytes = bytes_of(param.dtype, param.shape);
    if (!weights) fail(Code::input_argument, "[plan] weights are needed: none were given");
    weights->at(param.file, param.offset, param.bytes);
  }
  constants.resize(in.count(16, kMany));
  for (ConstantPlan& constant : constants) {
    constant.dtype = read_dtype(in);
    constant.shape = read_shape(in);
    constant.offset = in.u64();
    constant.bytes = bytes_of(constant.dtype, constant.shape);
  }
  const uint64_t data_bytes = in.u64();
  const uint8_t* blob = in.blob(data_bytes);
  data.assign(blob, blob + data_bytes);
  for (const ConstantPlan& constant : constants)
    if (constant.offset > data.size() || constant.bytes > data.size() - constant.offset)
      Reader::bad("a constant lies outside");

  appends.resize(in.count(16, kMany));
  for (AppendPlan& append : appends) {
    append.past = in.index(inputs.size(), "input");
    append.tokens = in.index(expressions.size(), "size");
    append.capacity = in.index(expressions.size(), "size");
    append.reach = in.u32();
    const Type& type = inputs[append.past].type;
    if (type.dtype != DType::i32 || !type.sizes.empty()) Reader::bad("a position is not i32[]");
  }

  bodies.resize(in.count(16, 4096));
  if (bodies.empty()) Reader::bad("it has no graph");
  for (Body& body : bodies) {
    body.arguments = in.u32();
    if (body.arguments > kMany) Reader::bad("a graph has too many arguments");
    body.values = body.arguments;
    body.calls.resize(in.count(20, kMany));
    for (Call& call : body.calls) {
      const std::string& function = name();
      call.function = find_function(function);
      if (call.function == nullptr)
        fail(Code::unsupported_op, "[mlx] no function named %s: the addon is older than the program", function.c_str());
      call.inputs.resize(in.count(4, kMany));
      for (uint32_t& input : call.inputs) input = in.index(body.values, "value");
      if (call.inputs.size() < call.function->least || call.inputs.size() > call.function->most)
        Reader::bad("a call has too few or too many operands");
      call.first = body.values;
      call.outputs.resize(in.count(8, 65536));
      for (Type& type : call.outputs) type = read_type(in, expressions.size());
      body.values += static_cast<uint32_t>(call.outputs.size());
      call.attributes.resize(in.count(8, 64));
      for (Attribute& attribute : call.attributes) {
        attribute.name = name();
        const uint32_t text = in.u32();
        if (text != kNone) {
          if (text >= names.size()) Reader::bad("a name is out of range");
          attribute.text = names[text];
        }
        attribute.items.resize(in.count(12, kMany));
        for (Attribute::Item& item : attribute.items) {
          item.number = in.f64();
          item.size = in.u32();
          if (item.size != kNone && item.size >= expressions.size()) Reader::bad("a size is out of range");
        }
      }
    }
    body.results.resize(in.count(4, kMany));
    for (uint32_t& result : body.results) result = in.index(body.values, "value");
    // The values that are released after each call.
    std::vector<uint8_t> seen(body.values, 0);
    for (const uint32_t result : body.results) seen[result] = 1;
    for (size_t i = body.calls.size(); i-- > 0;) {
      Call& call = body.calls[i];
      for (uint32_t output = 0; output < call.outputs.size(); output++)
        if (seen[call.first + output] == 0) call.last.push_back(call.first + output), seen[call.first + output] = 1;
      for (const uint32_t input : call.inputs)
        if (input >= body.arguments && seen[input] == 0) call.last.push_back(input), seen[input] = 1;
    }
  }
  const Body& graph = bodies[0];
  if (graph.arguments != inputs.size() + states.size() + params.size() + constants.size())
    Reader::bad("the graph's arguments are not its leaves");
  outputs.resize(in.count(12, kMany));
  if (graph.results.size() != outputs.size() + states.size())
    Reader::bad("the graph's results are not its outputs and states");
  for (size_t i = 0; i < outputs.size(); i++) {
    outputs[i].name = name();
    outputs[i].type = read_type(in, expressions.size());
    outputs[i].value = graph.results[i];
  }
  for (size_t i = 0; i < states.size(); i++) states[i].next = graph.results[outputs.size() + i];
  if (!in.done()) Reader::bad("something follows its end");
}

uint32_t Plan::symbol(const std::string& name) const {
  for (size_t i = 0; i < symbols.size(); i++)
    if (symbols[i] == name) return static_cast<uint32_t>(i);
  return kNone;
}

}  // namespace rlx::gpu
