// Model files for the tests of the bridge, written field by field: interfaces and operations, no
// weights. What a model computes is the evaluator's affair.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "spec.h"

namespace test_model {

using coreml_double::Block;
using coreml_double::Feature;
using coreml_double::Interface;
using coreml_double::Operation;

inline std::string varint(uint64_t value) {
  std::string made;
  for (; value > 127; value >>= 7) made += static_cast<char>(128 | (value & 127));
  return made + static_cast<char>(value);
}
inline std::string number(uint32_t field, int64_t value) {
  return varint(field << 3) + varint(static_cast<uint64_t>(value));
}
inline std::string bytes(uint32_t field, const std::string& content) {
  return varint(field << 3 | 2) + varint(content.size()) + content;
}

inline std::string array_type(const Feature& feature) {
  std::string made;
  for (int64_t dim : feature.shape) made += number(1, dim);
  made += number(2, feature.type == "fp16"   ? 65552
                    : feature.type == "fp32" ? 65568
                    : feature.type == "fp64" ? 65600
                    : feature.type == "int8" ? 131080
                                             : 131104);
  if (!feature.shapes.empty()) {
    std::string shapes;
    for (const auto& shape : feature.shapes) {
      std::string one;
      for (int64_t dim : shape) one += number(1, dim);
      shapes += bytes(1, one);
    }
    made += bytes(21, shapes);
  }
  if (!feature.ranges.empty()) {
    std::string ranges;
    for (const auto& [least, most] : feature.ranges) ranges += bytes(1, number(1, least) + number(2, most));
    made += bytes(31, ranges);
  }
  return made;
}
inline std::string feature_message(const Feature& feature, bool state) {
  const std::string array = array_type(feature);
  return bytes(1, feature.name) +
         bytes(3, state ? bytes(8, bytes(1, array)) : bytes(5, array) + (feature.optional ? number(1000, 1) : ""));
}
inline std::string block_message(const Block& block) {
  std::string made;
  for (const std::string& name : block.outputs) made += bytes(2, name);
  for (const Operation& operation : block.operations) {
    std::string one = bytes(1, operation.type);
    for (const std::string& name : operation.outputs) one += bytes(3, bytes(1, name));
    for (const Block& inner : operation.blocks) one += bytes(4, block_message(inner));
    made += bytes(3, one);
  }
  return made;
}

struct Entry {
  Interface interface;
  Block block;
};

// One function, not in multi-function form, when there is one entry named main.
inline std::string write_package(const std::filesystem::path& folder, const std::vector<Entry>& entries) {
  const bool single = entries.size() == 1 && entries[0].interface.name == "main";
  std::string description, program;
  for (const auto& [interface, block] : entries) {
    std::string one;
    for (const Feature& feature : interface.inputs) one += bytes(single ? 1 : 2, feature_message(feature, false));
    for (const Feature& feature : interface.outputs) one += bytes(single ? 10 : 3, feature_message(feature, false));
    for (const Feature& feature : interface.states) one += bytes(single ? 13 : 6, feature_message(feature, true));
    description += single ? one : bytes(20, bytes(1, interface.name) + one);
    const std::string function = bytes(2, "CoreML8") + bytes(3, bytes(1, "CoreML8") + bytes(2, block_message(block)));
    program += bytes(2, bytes(1, interface.name) + bytes(2, function));
  }
  if (!single) description += bytes(21, entries[0].interface.name);
  std::filesystem::create_directories(folder / "Data/com.apple.CoreML");
  std::ofstream(folder / "Data/com.apple.CoreML/model.mlmodel", std::ios::binary)
      << number(1, 9) + bytes(2, description) + bytes(502, program);
  std::ofstream(folder / "Manifest.json") << "{}";
  return folder.string();
}

}  // namespace test_model
