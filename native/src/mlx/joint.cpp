#include "joint.h"

#include <utility>

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

using Results = std::vector<std::vector<mx::array>>;

Well well_of(const std::vector<Run>& members, std::vector<Stepped>& stepped) {
  Well well;
  for (size_t place = 0; place < members.size(); place++) {
    try {
      well.leaves.push_back(members[place]->session->leaves(*members[place]->cancel));
      well.places.push_back(place);
    } catch (const std::exception&) {
      stepped[place].error = caught();
    }
  }
  return well;
}

// Nothing has changed before the results are there, so the others begin anew without one that
// fails.
Results results_of_all(const std::vector<Run>& members, Well& well, std::vector<Stepped>& stepped) {
  while (!well.places.empty()) {
    try {
      return results_of(*members[well.places.front()]->session, well.leaves);
    } catch (const PartError& failed) {
      stepped[well.places[failed.part]].error = std::make_unique<Error>(failed.error);
      well.leave(failed.part);
    }
  }
  return {};
}

// Places of those whose states are the new ones now; all that is to be evaluated is added to
// `wanted`.
std::vector<size_t> adopt_all(const std::vector<Run>& members, const Well& well, const Results& results,
                              std::vector<mx::array>& wanted, std::vector<Stepped>& stepped) {
  std::vector<size_t> adopted;
  for (size_t i = 0; i < results.size(); i++) {
    const size_t place = well.places[i];
    const Run& run = members[place];
    if (run->cancel->load()) continue;
    try {
      const std::vector<mx::array> own = run->session->adopt(run->request, run->drawing.sampling, results[i]);
      wanted.insert(wanted.end(), own.begin(), own.end());
      adopted.push_back(place);
    } catch (const std::exception&) {
      stepped[place].error = caught();
    }
  }
  return adopted;
}

}  // namespace

std::vector<Stepped> MlxJoint::step(const std::vector<Run>& members) {
  std::vector<Stepped> stepped(members.size());
  Well well = well_of(members, stepped);
  std::vector<size_t> adopted;
  try {
    Results results = results_of_all(members, well, stepped);
    // The old states: only the results refer to them now, and then nothing, so that MLX may write
    // over them.
    well.leaves.clear();
    std::vector<mx::array> wanted;
    adopted = adopt_all(members, well, results, wanted, stepped);
    results.clear();
    evaluate(std::move(wanted));
  } catch (const std::exception&) {
    const Error error = *caught();
    for (const size_t place : well.places) stepped[place].error = std::make_unique<Error>(error);
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
