#include "spec.h"

#include <functional>

// Field numbers are those of the published protobuf schema (proto/ in this repository names them
// all).
namespace coreml_double {
namespace {

struct Field {
  uint32_t number;
  uint64_t value = 0;  // varint
  const char* data = nullptr;
  size_t size = 0;
  std::string text() const { return {data, size}; }
};

uint64_t varint(const char*& at, const char* end) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at == end) throw SpecError("truncated");
    const auto byte = static_cast<uint8_t>(*at++);
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
  throw SpecError("bad varint");
}

void each(const char* at, size_t size, const std::function<void(const Field&)>& visit) {
  const char* end = at + size;
  while (at < end) {
    const uint64_t tag = varint(at, end);
    Field field{static_cast<uint32_t>(tag >> 3)};
    const auto skip = [&](size_t bytes) {
      if (static_cast<size_t>(end - at) < bytes) throw SpecError("truncated");
      field.data = at;
      field.size = bytes;
      at += bytes;
    };
    switch (tag & 7) {
      case 0: field.value = varint(at, end); break;
      case 1: skip(8); break;
      case 2: skip(varint(at, end)); break;
      case 5: skip(4); break;
      default: throw SpecError("bad wire type");
    }
    visit(field);
  }
}
void each(const Field& field, const std::function<void(const Field&)>& visit) { each(field.data, field.size, visit); }

// Repeated numbers come packed or one by one.
void numbers(const Field& field, Shape& into) {
  if (!field.data) return into.push_back(static_cast<int64_t>(field.value));
  for (const char *at = field.data, *end = at + field.size; at < end;)
    into.push_back(static_cast<int64_t>(varint(at, end)));
}

const char* type_name(uint64_t value) {
  switch (value) {
    case 65552: return "fp16";
    case 65568: return "fp32";
    case 65600: return "fp64";
    case 131104: return "int32";
    case 131080: return "int8";
  }
  throw SpecError("an unknown array type");
}

void read_array(const Field& field, Feature& into) {
  each(field, [&](const Field& part) {
    if (part.number == 1) numbers(part, into.shape);
    if (part.number == 2) into.type = type_name(part.value);
    if (part.number == 21)
      each(part, [&](const Field& shape) {
        Shape one;
        each(shape, [&](const Field& dim) { numbers(dim, one); });
        into.shapes.push_back(one);
      });
    if (part.number == 31)
      each(part, [&](const Field& range) {
        std::pair<int64_t, int64_t> bounds{0, -1};
        each(range, [&](const Field& bound) {
          (bound.number == 1 ? bounds.first : bounds.second) = static_cast<int64_t>(bound.value);
        });
        into.ranges.push_back(bounds);
      });
  });
}

Feature read_feature(const Field& field) {
  Feature feature;
  each(field, [&](const Field& part) {
    if (part.number == 1) feature.name = part.text();
    if (part.number != 3) return;
    each(part, [&](const Field& type) {
      if (type.number == 5) read_array(type, feature);
      if (type.number == 8) each(type, [&](const Field& held) { read_array(held, feature); });
      if (type.number == 1000) feature.optional = type.value != 0;
    });
  });
  return feature;
}

Interface read_interface(const Field& field, uint32_t input, uint32_t output, uint32_t state) {
  Interface made;
  each(field, [&](const Field& part) {
    if (part.number == input) made.inputs.push_back(read_feature(part));
    if (part.number == output) made.outputs.push_back(read_feature(part));
    if (part.number == state) made.states.push_back(read_feature(part));
    if (input == 2 && part.number == 1) made.name = part.text();
  });
  return made;
}

Block read_block(const Field& field);

Operation read_operation(const Field& field) {
  Operation made;
  each(field, [&](const Field& part) {
    if (part.number == 1) made.type = part.text();
    if (part.number == 3)
      each(part, [&](const Field& named) {
        if (named.number == 1) made.outputs.push_back(named.text());
      });
    if (part.number == 4) made.blocks.push_back(read_block(part));
  });
  return made;
}

Block read_block(const Field& field) {
  Block made;
  each(field, [&](const Field& part) {
    if (part.number == 2) made.outputs.push_back(part.text());
    if (part.number == 3) made.operations.push_back(read_operation(part));
  });
  return made;
}

// A map entry: key 1, value 2.
void each_entry(const Field& field, const std::function<void(const std::string&, const Field&)>& visit) {
  std::string key;
  Field value{0};
  each(field, [&](const Field& part) {
    if (part.number == 1) key = part.text();
    if (part.number == 2) value = part;
  });
  if (value.data) visit(key, value);
}

void read_program(const Field& field, Spec& into) {
  each(field, [&](const Field& part) {
    if (part.number != 2) return;
    each_entry(part, [&](const std::string& name, const Field& function) {
      Function made;
      std::map<std::string, Block> blocks;
      each(function, [&](const Field& piece) {
        if (piece.number == 2) made.opset = piece.text();
        if (piece.number == 3)
          each_entry(piece, [&](const std::string& opset, const Field& block) { blocks[opset] = read_block(block); });
      });
      if (!blocks.contains(made.opset)) throw SpecError("no block for " + made.opset);
      made.block = std::move(blocks[made.opset]);
      into.functions[name] = std::move(made);
    });
  });
}

}  // namespace

Spec read_spec(const std::string& bytes) {
  Spec spec;
  bool program = false;
  each(bytes.data(), bytes.size(), [&](const Field& field) {
    if (field.number == 2) {
      Interface single = read_interface(field, 1, 10, 13);
      each(field, [&](const Field& part) {
        if (part.number == 20) spec.interfaces.push_back(read_interface(part, 2, 3, 6));
        if (part.number == 21) spec.default_function = part.text();
      });
      spec.multifunction = !spec.interfaces.empty();
      if (!spec.multifunction) {
        single.name = spec.default_function = "main";
        spec.interfaces.push_back(std::move(single));
      }
    }
    if (field.number == 502) {
      program = true;
      read_program(field, spec);
    }
  });
  if (!program || spec.interfaces.empty()) throw SpecError("not an ML Program");
  for (const Interface& one : spec.interfaces)
    if (!spec.functions.contains(one.name)) throw SpecError("no function " + one.name);
  return spec;
}

}  // namespace coreml_double
