#include "host.h"

namespace rlx::coreml {

Napi::Value to_error(Napi::Env env, const Failure& failure) {
  Napi::Error error = Napi::Error::New(env, failure.what());
  error.Set("code", Napi::String::New(env, failure.code()));
  if (!failure.domain().empty())
    error.Set("system", Napi::String::New(env, failure.domain() + " " + std::to_string(failure.number())));
  return error.Value();
}

Worker::Worker() { std::thread(run, queue_).detach(); }
Worker::~Worker() {
  std::lock_guard guard(queue_->mutex);
  queue_->stop = true;
  queue_->ready.notify_all();
}
void Worker::push(std::function<void()> work) {
  std::lock_guard guard(queue_->mutex);
  queue_->work.push_back(std::move(work));
  queue_->ready.notify_one();
}
void Worker::run(const std::shared_ptr<Queue>& queue) {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock guard(queue->mutex);
      queue->ready.wait(guard, [&] { return queue->stop || !queue->work.empty(); });
      if (queue->work.empty()) return;
      work = std::move(queue->work.front());
      queue->work.pop_front();
    }
    work();
  }
}

Host::Host(Napi::Env env)
    : back_(Napi::ThreadSafeFunction::New(env, Napi::Function::New(env, [](const Napi::CallbackInfo&) {}), "rlx-coreml",
                                          0, 1)) {
  // Only a running job keeps the process alive.
  back_.Unref(env);
}

Napi::Value Host::start(Napi::Env env, const std::function<void(const std::shared_ptr<Job>&)>& begin) {
  auto job = std::make_shared<Job>(env);
  job->id = next_++;
  if (jobs_.empty()) back_.Ref(env);
  jobs_[job->id] = job;
  try {
    begin(job);
  } catch (...) {
    jobs_.erase(job->id);
    if (jobs_.empty()) back_.Unref(env);
    throw;
  }
  Napi::Object made = Napi::Object::New(env);
  made.Set("job", job->id);
  made.Set("promise", job->deferred.Promise());
  return made;
}

void Host::settle(const std::shared_ptr<Job>& job) {
  std::lock_guard guard(mutex_);
  if (closed_) return;
  auto self = shared_from_this();
  back_.NonBlockingCall([self, id = job->id](Napi::Env env, Napi::Function) {
    const auto found = self->jobs_.find(id);
    if (found == self->jobs_.end()) return;
    const std::shared_ptr<Job> done = found->second;
    self->jobs_.erase(found);
    if (self->jobs_.empty()) self->back_.Unref(env);
    if (done->failure) return done->deferred.Reject(to_error(env, *done->failure));
    try {
      done->deferred.Resolve(done->finish(env));
    } catch (const Napi::Error& error) {
      done->deferred.Reject(error.Value());
    } catch (const Failure& failure) {
      done->deferred.Reject(to_error(env, failure));
    }
  });
}

void Host::run(const std::shared_ptr<Job>& job, std::function<void(Job&)> work, const std::shared_ptr<Worker>& worker) {
  auto whole = [self = shared_from_this(), job, work = std::move(work)] {
    try {
      if (job->cancel->load()) throw Failure("CANCELLED", "Cancelled.");
      work(*job);
    } catch (...) {
      job->failure = caught();
    }
    self->settle(job);
  };
  if (worker)
    worker->push(std::move(whole));
  else
    std::thread(std::move(whole)).detach();
}

bool Host::cancel(double id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return false;
  found->second->cancel->store(true);
  return true;
}

void Host::close() {
  {
    std::lock_guard guard(mutex_);
    if (closed_) return;
    closed_ = true;
  }
  for (const auto& [id, job] : jobs_) job->cancel->store(true);
  back_.Abort();
  states_.clear();
  models_.clear();
}

double Host::add(HeldModel model) {
  models_.emplace(next_, std::move(model));
  return next_++;
}
double Host::add(HeldState state) {
  states_.emplace(next_, std::move(state));
  return next_++;
}
const HeldModel& Host::model(double id) const {
  const auto found = models_.find(id);
  if (found == models_.end()) throw Failure("HANDLE_UNKNOWN", "[coreml] this model was disposed");
  return found->second;
}
const HeldState& Host::state(double id) const {
  const auto found = states_.find(id);
  if (found == states_.end()) throw Failure("HANDLE_UNKNOWN", "[coreml] this state was disposed");
  return found->second;
}
bool Host::dispose(double id) { return models_.erase(id) + states_.erase(id) > 0; }

}  // namespace rlx::coreml
