// What one JavaScript environment has of the bridge: jobs on other threads, models and states
// behind numbers, the way back.
#pragma once

#include <napi.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "coreml/bridge.h"

namespace rlx::coreml {

Napi::Value to_error(Napi::Env env, const Failure& failure);

// A thread that does one thing after the other. It ends by itself when the worker is gone and all
// is done: the last holder may be a job of this same thread, and the JavaScript thread does not
// wait for it.
class Worker {
 public:
  Worker();
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  void push(std::function<void()> work);

 private:
  struct Queue {
    std::mutex mutex;
    std::condition_variable ready;
    std::deque<std::function<void()>> work;
    bool stop = false;
  };
  static void run(const std::shared_ptr<Queue>& queue);
  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
};

struct HeldModel {
  std::shared_ptr<Model> model;
  std::shared_ptr<Worker> worker;  // predictions of a model start in the order in which they were asked for
};
struct HeldState {
  std::shared_ptr<State> state;
  std::shared_ptr<Worker> worker;
};

class Host : public std::enable_shared_from_this<Host> {
 public:
  explicit Host(Napi::Env env);

  struct Job {
    explicit Job(Napi::Env env) : deferred(env) {}
    Napi::Promise::Deferred deferred;
    Cancel cancel = std::make_shared<std::atomic<bool>>(false);
    std::function<Napi::Value(Napi::Env)> finish;
    std::unique_ptr<Failure> failure;
    double id = 0;
  };

  // Starts a job; `begin` gets it on the JavaScript thread and arranges that `settle` is called
  // with it, from any thread.
  Napi::Value start(Napi::Env env, const std::function<void(const std::shared_ptr<Job>&)>& begin);
  void settle(const std::shared_ptr<Job>& job);
  // Runs `work` on a thread of its own (compile, load, plan: minutes) or on a worker, then settles.
  void run(const std::shared_ptr<Job>& job, std::function<void(Job&)> work,
           const std::shared_ptr<Worker>& worker = nullptr);
  bool cancel(double id);
  void close();

  double add(HeldModel model);
  double add(HeldState state);
  const HeldModel& model(double id) const;
  const HeldState& state(double id) const;
  bool dispose(double id);
  size_t handles() const { return models_.size() + states_.size(); }
  size_t jobs() const { return jobs_.size(); }

 private:
  Napi::ThreadSafeFunction back_;
  std::unordered_map<double, std::shared_ptr<Job>> jobs_;
  std::unordered_map<double, HeldModel> models_;
  std::unordered_map<double, HeldState> states_;
  double next_ = 1;
  std::mutex mutex_;
  bool closed_ = false;
};

}  // namespace rlx::coreml
