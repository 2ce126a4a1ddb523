// One walk through a plan's graph for several sessions. Calls whose operands are rows of each
// session and weights of all take the rows of all sessions one behind the other, so that weights
// are read once; the result stays together until a call needs it apart. Every other call runs for
// each session, with its own sizes and states. What depends on weights only runs once.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "calls.h"

namespace rlx::gpu {

// What one session brings to the walk.
struct JointPart {
  std::vector<Operand> arguments;  // of the graph, weights and constants last
  const std::vector<size_t>& sizes;
  const std::atomic<bool>* cancel;
};

// An error that one of the sessions made by itself: the others may go on without it.
struct PartError {
  size_t part;
  Error error;
};

struct JointWalk {
  const Plan& plan;
  Tracer* tracer = nullptr;  // as in Scope
  bool traced = false;
  bool eager = false;                              // evaluates each call, so that an error names it
  std::atomic<size_t>* joined_products = nullptr;  // with weights: counts those that took the rows of all
};

// The graph's results for each part. Throws PartError.
std::vector<std::vector<mx::array>> run_joint_body(const JointWalk& walk, std::span<const JointPart> parts);

}  // namespace rlx::gpu
