// What the double reads from a model file: interfaces of the functions and the operations of their
// blocks. A reader of the protobuf wire format for the few fields that matter here.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace coreml_double {

using Shape = std::vector<int64_t>;

struct Feature {
  std::string name;
  std::string type = "none";  // fp16, fp32, fp64, int32, int8; none: not an array
  bool optional = false;
  Shape shape;
  std::vector<Shape> shapes;                        // enumerated
  std::vector<std::pair<int64_t, int64_t>> ranges;  // lower, upper (negative: without end)
};

struct Interface {
  std::string name;
  std::vector<Feature> inputs, outputs, states;
};

struct Block;
struct Operation {
  std::string type;
  std::vector<std::string> outputs;
  std::vector<Block> blocks;
};
struct Block {
  std::vector<std::string> outputs;
  std::vector<Operation> operations;
};
struct Function {
  std::string opset;
  Block block;
};

struct Spec {
  bool multifunction = false;
  std::string default_function;
  std::vector<Interface> interfaces;
  std::map<std::string, Function> functions;

  const Interface* interface_of(const std::string& name) const {
    for (const Interface& one : interfaces)
      if (one.name == name) return &one;
    return nullptr;
  }
};

struct SpecError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Throws SpecError when the bytes are not a model.
Spec read_spec(const std::string& bytes);

}  // namespace coreml_double
