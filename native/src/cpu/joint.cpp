#include "joint.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

namespace rlx {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::unique_ptr<Error> caught() { return std::make_unique<Error>(current_error("engine")); }

std::unique_ptr<Error> cancelled(const JointRun& run) {
  if (!run.request.series) return std::make_unique<Error>(Code::cancelled, "Cancelled.");
  char text[96];
  std::snprintf(text, sizeof text, "Cancelled after %zu of %zu tokens.", run.drawing.drawn.size(),
                run.request.series->count);
  return std::make_unique<Error>(Code::cancelled, text);
}

}  // namespace

bool Joint::takes(const Session& session, const RunRequest& request) {
  if (request.score || request.profile || !session.is_straight()) return false;
  if (!request.sample && request.fetch.empty()) return false;
  return std::all_of(request.symbols.begin(), request.symbols.end(), [](const auto& size) { return size.second == 1; });
}

void Joint::add(Run run) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(run));
}

void Joint::drive(Pool& pool, const Run& run) {
  if (run->state == JointRun::State::waiting) start(run);
  await_others();
  while (run->state != JointRun::State::ended) {
    admit(run);
    std::vector<Run> members;
    for (const Run& other : std::vector<Run>(running_)) {
      if (other->cancel->load())
        end(other, cancelled(*other));
      else if (other->session->joins(*run->session) && (other == run || members.size() + 1 < JointStep::kMost))
        members.push_back(other);
    }
    if (members.empty() || run->state == JointRun::State::ended) continue;
    // The same sessions in the same order, so that the step that was made for them serves again.
    std::sort(members.begin(), members.end(), [](const Run& a, const Run& b) { return a->session < b->session; });
    step(pool, members);
  }
}

// Runs of one token come back a moment later, when JavaScript has seen the last one. The first to
// come would otherwise run alone each time, and the weights would be read twice.
void Joint::await_others() {
  constexpr double most = 0.004;
  const double until = last_ended_ + std::min(most, (last_ended_ - last_began_) / 4);
  const auto is_here = [this](const Session* session) {
    const auto of_it = [session](const Run& run) { return run->session.get() == session; };
    if (std::any_of(running_.begin(), running_.end(), of_it)) return true;
    const std::lock_guard lock(mutex_);
    return std::any_of(waiting_.begin(), waiting_.end(), of_it);
  };
  while (now() < until && !std::all_of(last_.begin(), last_.end(), is_here)) std::this_thread::yield();
  last_.clear();
}

// Those that may start now. One session's runs start in their order, each when the one before it
// has ended.
void Joint::admit(const Run& run) {
  std::vector<Run> ready;
  {
    const std::lock_guard lock(mutex_);
    std::vector<const Session*> taken;
    taken.reserve(running_.size() + waiting_.size());
    for (const Run& other : running_) taken.push_back(other->session.get());
    std::vector<Run> left;
    for (const Run& other : waiting_) {
      const bool first = std::find(taken.begin(), taken.end(), other->session.get()) == taken.end();
      taken.push_back(other->session.get());
      const bool joins = other->early && first && other->session->joins(*run->session);
      (joins && running_.size() + ready.size() < JointStep::kMost ? ready : left).push_back(other);
    }
    waiting_ = std::move(left);
  }
  for (const Run& other : ready) start(other);
}

void Joint::start(const Run& run) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(waiting_, run);
  }
  try {
    if (run->cancel->load()) throw Error(Code::cancelled, "Cancelled.");
    run->drawing = run->session->begin(run->request);
    run->state = JointRun::State::running;
    running_.push_back(run);
  } catch (const std::exception&) {
    end(run, caught());
  }
}

void Joint::end(const Run& run, std::unique_ptr<Error> error) {
  run->state = JointRun::State::ended;
  std::erase(running_, run);
  if (!error) {
    try {
      run->session->end(run->request, std::move(run->drawing), run->result);
    } catch (const std::exception&) {
      error = caught();
    }
  }
  // It holds what holds the run.
  std::exchange(run->done, nullptr)(std::move(error));
}

void Joint::step(Pool& pool, const std::vector<Run>& members) {
  const double began = now();
  if (members.size() == 1) {
    const Run& run = members.front();
    try {
      run->session->step(pool, *run->cancel);
    } catch (const Error& error) {
      end(run, error.code() == Code::cancelled && run->request.series ? cancelled(*run) : caught());
      return;
    }
  } else {
    try {
      std::vector<Session*> sessions;
      sessions.reserve(members.size());
      for (const Run& run : members) sessions.push_back(run->session.get());
      if (!step_ || !step_->is_of(sessions)) step_ = std::make_unique<JointStep>(sessions);
      step_->run(pool, [&] {
        return std::all_of(members.begin(), members.end(), [](const Run& run) { return run->cancel->load(); });
      });
    } catch (const std::exception&) {
      const Error error = *caught();
      for (const Run& run : members) end(run, std::make_unique<Error>(error));
      return;
    }
  }
  take(pool, members, began);
}

// Draws a token for each, on all threads, and ends the runs that have come to their end.
void Joint::take(Pool& pool, const std::vector<Run>& members, double began) {
  struct Drawn {
    Sampled sampled;
    std::unique_ptr<Error> error;
  };
  struct Work {
    Pool& pool;
    const std::vector<Run>& members;
    std::vector<Drawn> drawn;
    std::atomic<size_t> next{0};
  } work{pool, members, std::vector<Drawn>(members.size()), {}};
  const size_t threads = members.front()->session->threads(), at_once = std::min(threads, members.size());
  const auto draw = [](void* argument, size_t) {
    Work& work = *static_cast<Work*>(argument);
    const size_t count = work.members.size();
    for (size_t i; (i = work.next.fetch_add(1)) < count;) {
      JointRun& run = *work.members[i];
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
  pool.run(at_once, draw, &work);
  last_began_ = began;
  last_ended_ = now();
  last_.clear();
  if (members.size() > 1)
    for (const Run& run : members) last_.push_back(run->session.get());
  const double seconds = last_ended_ - began;
  for (size_t i = 0; i < members.size(); i++) {
    const Run& run = members[i];
    run->result.seconds += seconds;
    run->result.together = std::max(run->result.together, members.size());
    if (work.drawn[i].error) {
      end(run, std::move(work.drawn[i].error));
    } else if (run->cancel->load()) {
      end(run, cancelled(*run));
    } else if (!run->request.sample ||
               run->session->take(run->request, run->drawing, std::move(work.drawn[i].sampled))) {
      end(run, nullptr);
    }
  }
}

}  // namespace rlx
