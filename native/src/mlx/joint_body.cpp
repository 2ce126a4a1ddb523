#include "joint_body.h"

#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "body.h"

namespace rlx::gpu {
namespace {

using mx::array;
using Arrays = std::vector<array>;

// A value in all sessions: one for all of them, each its own, or the rows of all of them together.
struct JointValue {
  bool shared = false;        // `each` has one entry, which all sessions share
  std::vector<Operand> each;  // of each session; empty while the rows are together only
  std::vector<array> own;     // what `each` points at where it was computed here
  std::optional<array> all;   // rows one session behind the other
};

bool depends_on_sizes(const Call& call) {
  return std::any_of(call.attributes.begin(), call.attributes.end(), [](const Attribute& attribute) {
    return std::any_of(attribute.items.begin(), attribute.items.end(),
                       [](const Attribute::Item& item) { return item.size != kNone; });
  });
}

class Walk {
 public:
  Walk(const JointWalk& how, std::span<const JointPart> parts)
      : how_(how), parts_(parts), body_(how.plan.bodies[0]), values_(body_.values) {
    const size_t own = how.plan.inputs.size() + how.plan.states.size();
    for (uint32_t value = 0; value < body_.arguments; value++) {
      values_[value].shared = value >= own;
      for (const JointPart& part : parts_.first(value >= own ? 1 : parts_.size()))
        values_[value].each.push_back(part.arguments[value]);
    }
  }

  std::vector<Arrays> run() {
    for (size_t i = 0; i < body_.calls.size(); i++) {
      const Call& call = body_.calls[i];
      if (is_shared(call))
        keep_shared(call, invoke_of(call, i, 0));
      else if (joins(call))
        keep_joined(call, invoke_joined(call, i));
      else
        keep_each(call, i);
      for (const uint32_t value : call.last) values_[value] = {};
    }
    std::vector<Arrays> results(parts_.size());
    for (size_t part = 0; part < parts_.size(); part++)
      for (const uint32_t value : body_.results) {
        const Operand found = of(value, part);
        if (found.array == nullptr) fail(Code::ir_type, "[mlx] a packed weight is an output");
        results[part].push_back(*found.array);
      }
    return results;
  }

 private:
  Operand of(uint32_t index, size_t part) {
    JointValue& value = values_[index];
    if (value.shared) return value.each.front();
    if (value.each.empty()) {
      value.own = mx::split(*value.all, static_cast<int>(parts_.size()), 0);
      for (const array& own : value.own) value.each.push_back({&own, nullptr});
    }
    return value.each[part];
  }

  Operand together(uint32_t index) {
    JointValue& value = values_[index];
    if (value.shared) return value.each.front();
    if (!value.all) {
      Arrays rows;
      for (const Operand& each : value.each) rows.push_back(*each.array);
      value.all = mx::concatenate(std::move(rows), 0);
    }
    return {&*value.all, nullptr};
  }

  // True where each session has as many rows of the value as of the result, and all rows are alike.
  bool has_rows(const JointValue& value, const mx::Shape& result, bool same_rank) const {
    const mx::Shape& shape = value.each.empty() ? value.all->shape() : value.each.front().array->shape();
    const size_t sessions = value.each.empty() ? parts_.size() : 1;
    const bool fits = !shape.empty() && static_cast<size_t>(shape[0]) == sessions * static_cast<size_t>(result[0]) &&
                      (!same_rank || shape.size() == result.size());
    return fits && std::all_of(value.each.begin(), value.each.end(),
                               [&](const Operand& each) { return each.array->shape() == shape; });
  }

  bool same_results(const Call& call) const {
    for (const Type& type : call.outputs)
      for (const JointPart& part : parts_)
        if (bind_shape(type, part.sizes) != bind_shape(type, parts_.front().sizes)) return false;
    return !depends_on_sizes(call);
  }

  bool is_shared(const Call& call) const {
    const auto of_all = [this](uint32_t value) { return values_[value].shared; };
    return !call.inputs.empty() && !call.function->has_bodies &&
           std::all_of(call.inputs.begin(), call.inputs.end(), of_all) && same_results(call);
  }

  // True where the call means the same for the rows of all sessions at once: its result has rows,
  // and each operand either as many of them, or none. Products bring rows together; other calls
  // only go on with what is together, because to gather whole caches would cost more than it saves.
  bool joins(const Call& call) const {
    const Joins how = joins_of(*call.function);
    if (how == Joins::no || call.outputs.size() != 1 || !same_results(call)) return false;
    const mx::Shape result = bind_shape(call.outputs[0], parts_.front().sizes);
    if (result.size() < 2) return false;
    const auto is_together = [this](uint32_t value) { return values_[value].all.has_value(); };
    if (call.function->weights == 0 && std::none_of(call.inputs.begin(), call.inputs.end(), is_together)) return false;
    for (size_t i = 0; i < call.inputs.size(); i++) {
      const JointValue& value = values_[call.inputs[i]];
      const bool is_weight = (call.function->weights >> i & 1) != 0;
      if (is_weight && value.shared) continue;
      if (is_weight || (value.shared && how == Joins::rows)) return false;
      if (value.shared) {
        const array* own = value.each.front().array;
        const bool has_rows = own == nullptr || (own->ndim() == result.size() && own->shape(0) != 1);
        if (has_rows) return false;
        continue;
      }
      if (!has_rows(value, result, how == Joins::broadcast)) return false;
    }
    return true;
  }

  Scope scope_of(size_t part) const {
    Scope scope{how_.plan, parts_[part].sizes, how_.traced, how_.tracer};
    scope.cancel = parts_[part].cancel;
    return scope;
  }

  void evaluate(const Call& call, size_t index, const std::vector<Operand>& operands, Arrays& made) const {
    if (!how_.eager) return;
    try {
      mx::eval(made);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      failed(call, index, operands, error.what());
    }
  }

  Arrays invoke_of(const Call& call, size_t index, size_t part) {
    std::vector<Operand> operands;
    for (const uint32_t value : call.inputs) operands.push_back(of(value, part));
    Scope scope = scope_of(part);
    Arrays made = invoke(call, index, operands, parts_[part].sizes, scope);
    evaluate(call, index, operands, made);
    return made;
  }

  array invoke_joined(const Call& call, size_t index) {
    std::vector<Operand> operands;
    for (const uint32_t value : call.inputs) operands.push_back(together(value));
    Scope scope = scope_of(0);
    Arrays made = invoke(call, index, operands, parts_.front().sizes, scope, parts_.size());
    evaluate(call, index, operands, made);
    if (how_.joined_products != nullptr && call.function->weights != 0) how_.joined_products->fetch_add(1);
    return std::move(made.front());
  }

  void keep_shared(const Call& call, Arrays made) {
    for (size_t i = 0; i < made.size(); i++) {
      JointValue& value = values_[call.first + i];
      value.shared = true;
      value.own.push_back(std::move(made[i]));
      value.each.push_back({&value.own.front(), nullptr});
    }
  }

  void keep_joined(const Call& call, array made) { values_[call.first].all = std::move(made); }

  void keep_each(const Call& call, size_t index) {
    for (size_t i = 0; i < call.outputs.size(); i++) values_[call.first + i].own.reserve(parts_.size());
    for (size_t part = 0; part < parts_.size(); part++) {
      Arrays made;
      try {
        made = invoke_of(call, index, part);
      } catch (const Error& error) {
        throw PartError{part, error};
      }
      for (size_t i = 0; i < made.size(); i++) {
        JointValue& value = values_[call.first + i];
        value.own.push_back(std::move(made[i]));
        value.each.push_back({&value.own.back(), nullptr});
      }
    }
  }

  const JointWalk& how_;
  std::span<const JointPart> parts_;
  const Body& body_;
  std::vector<JointValue> values_;
};

}  // namespace

std::vector<std::vector<mx::array>> run_joint_body(const JointWalk& walk, std::span<const JointPart> parts) {
  return Walk(walk, parts).run();
}

}  // namespace rlx::gpu
