#include "engine.h"

#include <algorithm>

namespace rlx::binding {

Napi::Value to_error(Napi::Env env, const Error& error) {
  Napi::Error value = Napi::Error::New(env, error.what());
  value.Set("code", Napi::String::New(env, code_name(error.code())));
  return value.Value();
}

Engine::Engine(Napi::Env env)
    : back_(
          Napi::ThreadSafeFunction::New(env, Napi::Function::New(env, [](const Napi::CallbackInfo&) {}), "rlx", 0, 1)),
      lane_(std::make_unique<Lane>()) {
  // Only a running job keeps the process alive.
  back_.Unref(env);
}

Engine::~Engine() { close(); }

void Engine::close() {
  if (closed_) return;
  closed_ = true;
  for (const auto& [id, job] : jobs_) job->cancel.store(true);
  // Objects of the handles end on the thread that worked with them; the lane finishes its queue.
  lane_->push([this] { handles.clear(); });
  lane_.reset();
  aside_.reset();
  back_.Abort();
}

Napi::Value Engine::submit(Napi::Env env, std::function<void(Job&)> work, std::function<Napi::Value(Napi::Env)> finish,
                           const JobOptions& options) {
  if (options.aside && !aside_) aside_ = std::make_unique<Lane>();
  auto job = std::make_shared<Job>(env);
  job->id = next_job_++;
  job->work = std::move(work);
  job->finish = std::move(finish);
  job->subject = options.subject;
  job->is_joint = options.joins != nullptr;
  if (jobs_.empty()) back_.Ref(env);
  jobs_[job->id] = job;
  if (job->is_joint) options.joins(job);
  (options.aside ? aside_ : lane_)->push([this, job] {
    if (!job->is_settled) {
      try {
        // A joint one ends itself.
        if (!job->is_joint && job->cancel.load()) throw Error(Code::cancelled, "Cancelled.");
        job->work(*job);
      } catch (const std::exception&) {
        job->error = std::make_unique<Error>(current_error("engine"));
      }
      settle(*job);
    }
    job->work = nullptr;
  });
  Napi::Object result = Napi::Object::New(env);
  result.Set("job", Napi::Number::New(env, job->id));
  result.Set("promise", job->deferred.Promise());
  return result;
}

void Engine::settle(Job& job) {
  if (job.is_settled) return;
  job.is_settled = true;
  const double id = job.id;
  back_.NonBlockingCall([this, id](Napi::Env env, Napi::Function) { finish_job(env, id); });
}

bool Engine::is_queued(const void* subject) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [subject](const auto& entry) {
    return entry.second->subject == subject && !entry.second->is_joint;
  });
}

void Engine::finish_job(Napi::Env env, double id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  const std::shared_ptr<Job> job = found->second;
  jobs_.erase(found);
  if (jobs_.empty()) back_.Unref(env);
  if (job->error) {
    job->deferred.Reject(to_error(env, *job->error));
    return;
  }
  try {
    job->deferred.Resolve(guarded(env, [&] { return job->finish(env); }));
  } catch (const Napi::Error& error) {
    job->deferred.Reject(error.Value());
  }
}

void Engine::account(Napi::Env env, double handle, size_t bytes) {
  const auto size = static_cast<int64_t>(bytes);
  Napi::MemoryManagement::AdjustExternalMemory(env, size);
  accounted_[handle] = size;
}

bool Engine::dispose(Napi::Env env, double handle) {
  if (const auto found = accounted_.find(handle); found != accounted_.end()) {
    Napi::MemoryManagement::AdjustExternalMemory(env, -found->second);
    accounted_.erase(found);
  }
  return handles.remove(handle);
}

bool Engine::cancel(double id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return false;
  found->second->cancel.store(true);
  return true;
}

}  // namespace rlx::binding
