// Branches and loops. Outside of a trace the condition is evaluated and one sub-graph runs. Inside
// a trace no value is known: both branches are built and selected from, and a loop is unrolled to
// its largest number of turns. A loop that cannot be unrolled, or would be too large, splits the
// trace: the plan runs call by call, lazily, and its sub-graphs are traces of their own
// (docs/decisions/0012-control-flow.md).
#include "control.h"

#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <algorithm>
#include <limits>
#include <map>

#include "../core/error.h"
#include "body.h"

namespace rlx::gpu {
namespace {

using mx::array;
using Arrays = std::vector<array>;
using Operands = std::vector<Operand>;

// Sub-graphs inside sub-graphs: a plan that names itself must not end the process.
constexpr int kDeepest = 32;
// Sub-graphs that one trace may hold, each counted as often as it occurs.
constexpr double kMostCopies = 256;
// Turns that are built before they are evaluated, where the condition does not need them.
constexpr int kTurnsAhead = 16;
constexpr double kEndless = std::numeric_limits<double>::infinity();

bool is_true(const array& condition) {
  array flag = mx::astype(condition, mx::bool_);
  flag.eval();
  return flag.item<bool>();
}

uint32_t body_of(const Invocation& c, const char* name) { return static_cast<uint32_t>(c.whole(name)); }

// Each graph is counted once, however often others name it: `known` holds the counted ones.
using Counted = std::map<uint32_t, double>;

double copies(const Plan& plan, uint32_t index, const std::vector<size_t>& sizes, int depth, Counted& known) {
  if (index >= plan.bodies.size()) fail(Code::ir_structure, "[mlx] there is no graph %u", index);
  if (const auto found = known.find(index); found != known.end()) return found->second;
  if (depth > kDeepest) fail(Code::ir_structure, "[mlx] sub-graphs are nested deeper than %d", kDeepest);
  double total = 1;
  Scope unused{plan, sizes};
  const Operands none;
  for (const Call& call : plan.bodies[index].calls) {
    const Invocation c{call, sizes, none, unused};
    const auto of = [&](const char* name) { return copies(plan, body_of(c, name), sizes, depth + 1, known); };
    if (call.function->run == branch) total += of("yes") + of("no");
    if (call.function->run == scan) total += c.number("length", kEndless) * of("body");
    if (call.function->run == loop) total += c.number("most", kEndless) * (of("condition") + of("body"));
    if (total > kMostCopies) break;
  }
  return known[index] = total;
}

Arrays loop_of(const Invocation& c, size_t carried) {
  Arrays result;
  for (size_t i = 0; i < carried; i++) result.push_back(c.in(i));
  return result;
}

array row_of(const array& x, int place) {
  mx::Shape from(x.ndim(), 0), to = x.shape();
  from[0] = place;
  to[0] = place + 1;
  return mx::squeeze(mx::slice(x, from, to), 0);
}

// Arguments of a loop's sub-graph: the carried values as they are now, and the constant ones.
Operands now(const Invocation& c, const Arrays& carried) {
  Operands operands;
  for (const array& value : carried) operands.push_back({&value, nullptr});
  operands.insert(operands.end(), c.inputs.begin() + static_cast<std::ptrdiff_t>(carried.size()), c.inputs.end());
  return operands;
}

}  // namespace

bool traceable(const Plan& plan, uint32_t body, const std::vector<size_t>& sizes) {
  Counted known;
  return plan.bodies.size() == 1 || copies(plan, body, sizes, 0, known) <= kMostCopies;
}

std::vector<array> Scope::run(uint32_t body, const std::vector<Operand>& arguments) {
  if (depth >= kDeepest) fail(Code::ir_structure, "[mlx] sub-graphs are nested deeper than %d", kDeepest);
  if (!traced && tracer != nullptr && traceable(plan, body, sizes)) return tracer->replay(body, arguments, sizes);
  Scope inner = *this;
  inner.depth++;
  return run_body(body, arguments, inner);
}

std::vector<array> branch(const Invocation& c) {
  const Operands operands(c.inputs.begin() + 1, c.inputs.end());
  const uint32_t then = body_of(c, "yes"), otherwise = body_of(c, "no");
  if (!c.scope.traced) return c.scope.run(is_true(c.in(0)) ? then : otherwise, operands);
  const Arrays yes = c.scope.run(then, operands), no = c.scope.run(otherwise, operands);
  Arrays result;
  for (size_t i = 0; i < yes.size(); i++) result.push_back(mx::where(c.in(0), yes[i], no.at(i)));
  return result;
}

std::vector<array> loop(const Invocation& c) {
  const double count = c.number("carried", static_cast<double>(c.inputs.size()));
  if (!(count >= 0 && count <= static_cast<double>(c.inputs.size())))
    fail(Code::ir_structure, "[while] carried: got %g of %zu operands", count, c.inputs.size());
  const auto size = static_cast<size_t>(count);
  Arrays carried = loop_of(c, size);
  const uint32_t condition = body_of(c, "condition"), body = body_of(c, "body");
  const double most = c.number("most", kEndless);
  const auto turn = [&] {
    Arrays next = c.scope.run(body, now(c, carried));
    if (next.size() != size)
      fail(Code::ir_structure, "[while] a turn gives %zu values, expected %zu", next.size(), size);
    return next;
  };
  const auto going_on = [&] { return c.scope.run(condition, now(c, carried)).at(0); };
  if (!c.scope.traced) {
    for (double turns = 0; turns < most && is_true(going_on()); turns++) {
      if (c.scope.cancel != nullptr && c.scope.cancel->load()) throw Error(Code::cancelled, "Cancelled.");
      carried = turn();
      if (static_cast<int64_t>(turns) % kTurnsAhead == kTurnsAhead - 1) mx::eval(carried);
    }
    return carried;
  }
  if (!(most <= kMostCopies)) fail(Code::bug_invariant, "[while] a loop without a small limit is in a trace");
  array going = array(true);
  for (double turns = 0; turns < most; turns++) {
    going = mx::logical_and(going, mx::astype(going_on(), mx::bool_));
    const Arrays next = turn();
    for (size_t i = 0; i < carried.size(); i++) carried[i] = mx::where(going, next[i], carried[i]);
  }
  return carried;
}

// A turn for each row. Rows are views, and what the turns give is stacked once behind the last.
std::vector<array> scan(const Invocation& c) {
  const auto counted = [&](const char* name, double most) {
    const double value = c.number(name, -1);
    if (!(value >= 0 && value <= most))
      fail(Code::ir_structure, "[scan] %s: got %g, expected at most %g", name, value, most);
    return static_cast<size_t>(value);
  };
  const auto all = static_cast<double>(c.inputs.size());
  const size_t size = counted("carried", all), from = counted("rows", all), scanned = counted("scanned", all);
  const size_t length = counted("length", std::numeric_limits<int>::max());
  if (size > from || from + scanned > c.inputs.size() || size > c.call.outputs.size())
    fail(Code::ir_structure, "[scan] %zu carried and %zu scanned of %zu operands", size, scanned, c.inputs.size());
  for (size_t i = from; i < from + scanned; i++)
    if (c.in(i).ndim() == 0 || static_cast<size_t>(c.in(i).shape(0)) != length)
      fail(Code::ir_structure, "[scan] operand %zu has no row for each of %zu turns", i, length);
  if (c.scope.traced && static_cast<double>(length) > kMostCopies)
    fail(Code::bug_invariant, "[scan] a scan of %zu turns is in a trace", length);
  const bool reverse = c.flag("reverse");
  const uint32_t body = body_of(c, "body");
  Arrays carried = loop_of(c, size);
  std::vector<Arrays> made(c.call.outputs.size() - size);
  Arrays rows;
  for (size_t turn = 0; turn < length; turn++) {
    if (c.scope.cancel != nullptr && c.scope.cancel->load()) throw Error(Code::cancelled, "Cancelled.");
    const int place = static_cast<int>(reverse ? length - 1 - turn : turn);
    rows.clear();
    for (size_t i = 0; i < scanned; i++) rows.push_back(row_of(c.in(from + i), place));
    Operands operands = now(c, carried);
    for (size_t i = 0; i < scanned; i++) operands[from + i] = {&rows[i], nullptr};
    Arrays next = c.scope.run(body, operands);
    if (next.size() != c.call.outputs.size())
      fail(Code::ir_structure, "[scan] a turn gives %zu values, expected %zu", next.size(), c.call.outputs.size());
    for (size_t i = 0; i < made.size(); i++) made[i].push_back(next[size + i]);
    carried.assign(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(size));
    if (!c.scope.traced && turn % kTurnsAhead == kTurnsAhead - 1) {
      Arrays due = carried;
      for (const Arrays& values : made) due.insert(due.end(), values.end() - kTurnsAhead, values.end());
      mx::eval(due);
    }
  }
  for (size_t i = 0; i < made.size(); i++) {
    if (reverse) std::reverse(made[i].begin(), made[i].end());
    carried.push_back(length == 0 ? mx::zeros(c.shape(size + i), c.dtype(size + i)) : mx::stack(made[i], 0));
  }
  return carried;
}

}  // namespace rlx::gpu
