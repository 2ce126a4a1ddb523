// The engine of one JavaScript environment: handles, the lanes that run jobs, and the way back to
// its thread.
#pragma once

#include <napi.h>

#include <atomic>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "../core/error.h"
#include "../core/handles.h"
#include "../core/lane.h"

namespace rlx::binding {

struct Job {
  std::atomic<bool> cancel{false};
  std::function<void(Job&)> work;                // on the engine thread
  std::function<Napi::Value(Napi::Env)> finish;  // on the JavaScript thread
  std::unique_ptr<Error> error;
  const void* subject = nullptr;
  bool is_joint = false;
  bool is_settled = false;  // of the engine thread: JavaScript has been told of its end
  Napi::Promise::Deferred deferred;
  double id = 0;
  explicit Job(Napi::Env env) : deferred(env) {}
};

struct JobOptions {
  bool aside = false;             // on a second lane, which is made for the first of these
  const void* subject = nullptr;  // the session that it works with
  // Called before the job is on its lane. Such a job may be settled before its turn.
  std::function<void(const std::shared_ptr<Job>&)> joins = nullptr;
};

class Engine {
 public:
  explicit Engine(Napi::Env env);
  ~Engine();

  // Queues work; the answer is {job, promise}.
  Napi::Value submit(Napi::Env env, std::function<void(Job&)> work, std::function<Napi::Value(Napi::Env)> finish,
                     const JobOptions& options = {});
  bool cancel(double id);
  void close();
  // Tells JavaScript that the job has ended. On the engine thread; once is enough.
  void settle(Job& job);
  // True if a job that is not joint stands for this session or works with it.
  bool is_queued(const void* subject) const;

  // Tells JavaScript's collector the bytes behind a handle, until the handle goes, so that it finds
  // a lost handle sooner.
  void account(Napi::Env env, double handle, size_t bytes);
  // False when it is gone already.
  bool dispose(Napi::Env env, double handle);

  Handles handles;
  std::shared_ptr<void> part;  // what the engine's own binding keeps beside them
  Lane& lane() { return *lane_; }
  size_t jobs() const { return jobs_.size(); }

 private:
  void finish_job(Napi::Env env, double id);

  std::unordered_map<double, std::shared_ptr<Job>> jobs_;
  std::unordered_map<double, int64_t> accounted_;
  double next_job_ = 1;
  Napi::ThreadSafeFunction back_;
  std::unique_ptr<Lane> lane_;
  std::unique_ptr<Lane> aside_;
  bool closed_ = false;
};

Napi::Value to_error(Napi::Env env, const Error& error);

// Runs `body` and turns every C++ exception into a JavaScript error with a code.
template <class Body>
Napi::Value guarded(Napi::Env env, Body&& body) {
  try {
    return body();
  } catch (const Napi::Error&) {
    throw;
  } catch (const std::exception&) {
    throw Napi::Error(env, to_error(env, current_error("addon")));
  }
}

}  // namespace rlx::binding
