#include "joint.h"

#include <algorithm>

#include "../core/error.h"
#include "evaluate.h"

namespace rlx::gpu {
namespace {

using Run = Joint<Session>::Run;

// The sessions that are still well in a step, and where they stand among its members.
struct Well {
  std::vector<size_t> places;
  std::vector<Leaves> leaves;

  void leave(size_t index) {
    places.erase(places.begin() + static_cast<std::ptrdiff_t>(index));
    leaves.erase(leaves.begin() + static_cast<std::ptrdiff_t>(index));
  }
};

std::vector<std::vector<mx::array>> results_of(const Session& session, const std::vector<Leaves>& leaves) {
  if (leaves.size() > 1) return session.model().together(leaves, session.mode());
  try {
    return {session.results(leaves.front(), nullptr)};
  } catch (const Error& error) {
    throw PartError{0, error};
  }
}

void fail_all(std::vector<Stepped>& stepped, const std::vector<size_t>& places) {
  const Error error = *caught();
  for (const size_t place : places) stepped[place].error = std::make_unique<Error>(error);
}

}  // namespace

std::vector<Stepped> MlxJoint::step(const std::vector<Run>& members) {
  std::vector<Stepped> stepped(members.size());
  Well well;
  for (size_t place = 0; place < members.size(); place++) {
    try {
      well.leaves.push_back(members[place]->session->leaves(*members[place]->cancel));
      well.places.push_back(place);
    } catch (const std::exception&) {
      stepped[place].error = caught();
    }
  }
  std::vector<std::vector<mx::array>> results;
  std::vector<mx::array> wanted;
  std::vector<size_t> adopted;
  try {
    // Nothing has changed before the results are there, so the others begin anew without one that fails.
    while (results.empty() && !well.places.empty()) {
      try {
        results = results_of(*members[well.places.front()]->session, well.leaves);
      } catch (const PartError& failed) {
        stepped[well.places[failed.part]].error = std::make_unique<Error>(failed.error);
        well.leave(failed.part);
      }
    }
    // The old states: only the results refer to them now, and MLX may write over them.
    well.leaves.clear();
    for (size_t i = 0; i < results.size(); i++) {
      const Run& run = members[well.places[i]];
      if (run->cancel->load()) continue;
      try {
        const std::vector<mx::array> own = run->session->adopt(run->request, run->drawing.sampling, results[i]);
        wanted.insert(wanted.end(), own.begin(), own.end());
        adopted.push_back(well.places[i]);
      } catch (const std::exception&) {
        stepped[well.places[i]].error = caught();
      }
    }
    results.clear();
    evaluate(std::move(wanted));
  } catch (const std::exception&) {
    fail_all(stepped, well.places);
    return stepped;
  }
  for (const size_t place : adopted) {
    const Run& run = members[place];
    try {
      stepped[place].sampled = run->session->settle(run->request);
    } catch (const std::exception&) {
      stepped[place].error = caught();
    }
  }
  return stepped;
}

}  // namespace rlx::gpu
