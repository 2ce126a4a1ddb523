// Runs that are joined: requests for one token a step, of any number of sessions. They wait here in
// the order of the lane, and each is driven to its end at its turn there. While one is driven, all
// others that may start join its steps, between any two of them, and stay until they are done; so a
// run may end before its turn, and what else stands on the lane runs in between. How a step of
// several sessions is made is each engine's business.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "drawing.h"
#include "error.h"

namespace rlx {

// Sessions of one step, at most.
constexpr size_t kMostJoined = 32;

template <class Session>
struct JointRun {
  std::shared_ptr<Session> session;  // until it has ended, on the engine's thread
  RunRequest request;
  const std::atomic<bool>* cancel = nullptr;
  bool early = true;  // it may start before its turn: nothing else is queued for its session
  std::function<void(std::unique_ptr<Error>)> done;  // on the engine's thread, once
  RunResult result;

  // Of the engine's thread.
  enum class State : uint8_t { waiting, running, ended } state = State::waiting;
  Drawing drawing;
};

// What a step gave one of its sessions: a token if its run draws, or an error.
struct Stepped {
  Sampled sampled;
  std::unique_ptr<Error> error;
};

inline std::unique_ptr<Error> caught() { return std::make_unique<Error>(current_error("engine")); }

// A session has joins(other), begin(request, cancel), take(request, drawing, sampled) and
// end(request, drawing, result): its step in parts.
template <class Session>
class Joint {
 public:
  using Run = std::shared_ptr<JointRun<Session>>;

  Joint() = default;
  Joint(const Joint&) = delete;
  Joint& operator=(const Joint&) = delete;
  virtual ~Joint() = default;

  // In the order of the lane. From any thread.
  void add(Run run) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(run));
  }

  // Its turn on the lane: returns when it has ended.
  void drive(const Run& run) {
    const std::shared_ptr<Session> session = run->session;
    if (run->state == State::waiting) start(run);
    if (run->state != State::ended) await_others();
    while (run->state != State::ended) {
      admit(*session);
      std::vector<Run> members;
      for (const Run& other : std::vector<Run>(running_)) {
        if (other->cancel->load())
          end(other, cancelled(*other));
        else if (other->session->joins(*session) && (other == run || members.size() + 1 < kMostJoined))
          members.push_back(other);
      }
      if (members.empty() || run->state == State::ended) continue;
      // The same sessions in the same order, so that the step that was made for them serves again.
      std::sort(members.begin(), members.end(), [](const Run& a, const Run& b) { return a->session < b->session; });
      advance(members);
    }
  }

 protected:
  // A step of these sessions, and a draw for each run that draws. What goes wrong in one of them
  // leaves the others alone.
  virtual std::vector<Stepped> step(const std::vector<Run>& members) = 0;

 private:
  using State = typename JointRun<Session>::State;

  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  static std::unique_ptr<Error> cancelled(const JointRun<Session>& run) {
    if (!run.request.series) return std::make_unique<Error>(Code::cancelled, "Cancelled.");
    char text[96];
    std::snprintf(text, sizeof text, "Cancelled after %zu of %zu tokens.", run.drawing.drawn.size(),
                  run.request.series->count);
    return std::make_unique<Error>(Code::cancelled, text);
  }

  // Runs of one token come back a moment later, when JavaScript has seen the last one. The first to
  // come would otherwise run alone each time, and the weights would be read twice.
  void await_others() {
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
  void admit(const Session& driven) {
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
        const bool joins = other->early && first && other->session->joins(driven);
        (joins && running_.size() + ready.size() < kMostJoined ? ready : left).push_back(other);
      }
      waiting_ = std::move(left);
    }
    for (const Run& other : ready) start(other);
  }

  void start(const Run& run) {
    {
      const std::lock_guard lock(mutex_);
      std::erase(waiting_, run);
    }
    try {
      if (run->cancel->load()) throw Error(Code::cancelled, "Cancelled.");
      run->drawing = run->session->begin(run->request, *run->cancel);
      run->state = State::running;
      running_.push_back(run);
    } catch (const std::exception&) {
      end(run, caught());
    }
  }

  void end(const Run& run, std::unique_ptr<Error> error) {
    run->state = State::ended;
    std::erase(running_, run);
    const std::shared_ptr<Session> session = std::move(run->session);
    if (!error) {
      try {
        session->end(run->request, std::move(run->drawing), run->result);
      } catch (const std::exception&) {
        error = caught();
      }
    }
    // It holds what holds the run.
    std::exchange(run->done, nullptr)(std::move(error));
  }

  // One step, and the end of the runs that have come to theirs.
  void advance(const std::vector<Run>& members) {
    last_began_ = now();
    std::vector<Stepped> stepped = step(members);
    last_ended_ = now();
    last_.clear();
    if (members.size() > 1)
      for (const Run& run : members) last_.push_back(run->session.get());
    const double seconds = last_ended_ - last_began_;
    for (size_t i = 0; i < members.size(); i++) {
      const Run& run = members[i];
      Stepped& got = stepped[i];
      run->result.seconds += seconds;
      run->result.together = std::max(run->result.together, members.size());
      if (got.error) {
        const bool stopped = got.error->code() == Code::cancelled && run->request.series;
        end(run, stopped ? cancelled(*run) : std::move(got.error));
      } else if (run->cancel->load()) {
        end(run, cancelled(*run));
      } else if (!run->request.sample || run->session->take(run->request, run->drawing, std::move(got.sampled))) {
        end(run, nullptr);
      }
    }
  }

  std::mutex mutex_;
  std::vector<Run> waiting_;
  // Of the engine's thread.
  std::vector<Run> running_;
  std::vector<const Session*> last_;  // the sessions of the last step that had several
  double last_began_ = 0, last_ended_ = 0;
};

}  // namespace rlx
