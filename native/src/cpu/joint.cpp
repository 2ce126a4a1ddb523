#include "joint.h"

#include <algorithm>

namespace rlx {

std::vector<Stepped> CpuJoint::step(const std::vector<Run>& members) {
  try {
    if (members.size() == 1) {
      members.front()->session->step(pool_, *members.front()->cancel);
    } else {
      std::vector<Session*> sessions;
      sessions.reserve(members.size());
      for (const Run& run : members) sessions.push_back(run->session.get());
      if (!step_ || !step_->is_of(sessions)) step_ = std::make_unique<JointStep>(sessions);
      step_->run(pool_, [&] {
        return std::all_of(members.begin(), members.end(), [](const Run& run) { return run->cancel->load(); });
      });
    }
  } catch (const std::exception&) {
    const Error error = *caught();
    std::vector<Stepped> failed(members.size());
    for (Stepped& each : failed) each.error = std::make_unique<Error>(error);
    return failed;
  }
  return draw(members);
}

// Draws a token for each, on all threads.
std::vector<Stepped> CpuJoint::draw(const std::vector<Run>& members) {
  struct Work {
    Pool& pool;
    const std::vector<Run>& members;
    std::vector<Stepped> drawn;
    std::atomic<size_t> next{0};
  } work{pool_, members, std::vector<Stepped>(members.size()), {}};
  const size_t threads = members.front()->session->threads(), at_once = std::min(threads, members.size());
  const auto draw_some = [](void* argument, size_t) {
    Work& work = *static_cast<Work*>(argument);
    const size_t count = work.members.size();
    for (size_t i; (i = work.next.fetch_add(1)) < count;) {
      JointRun<Session>& run = *work.members[i];
      try {
        if (count > 1) JointStep::check(*run.session);
        if (!run.request.sample || run.cancel->load()) continue;
        const size_t threads = count == 1 ? run.session->threads() : 1;
        work.drawn[i].sampled = run.session->sample(work.pool, threads, run.request, run.drawing.sampling);
      } catch (const std::exception&) {
        work.drawn[i].error = caught();
      }
    }
  };
  pool_.run(at_once, draw_some, &work);
  return std::move(work.drawn);
}

}  // namespace rlx
