// Addon functions that all engines share: open weights, load plans, run, save, restore and reset
// sessions, cancel jobs, count objects.
#pragma once

#include <utility>

#include "../core/joint.h"
#include "../core/weights.h"
#include "engine.h"
#include "run_values.h"

namespace rlx::binding {

inline Engine& engine_of(const Napi::CallbackInfo& info) { return *info.Env().GetInstanceData<Engine>(); }

template <class Session>
std::shared_ptr<Session> session_of(const Napi::CallbackInfo& info) {
  return engine_of(info).handles.get<Session>(number_of(info[0], "session"), "session");
}

template <class Plan, class Session>
Napi::Value counts(const Napi::CallbackInfo& info) {
  const Engine& engine = engine_of(info);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("weights", static_cast<double>(engine.handles.count<Weights>()));
  result.Set("plans", static_cast<double>(engine.handles.count<Plan>()));
  result.Set("sessions", static_cast<double>(engine.handles.count<Session>()));
  result.Set("jobs", static_cast<double>(engine.jobs()));
  return result;
}

inline Napi::Value open_weights(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    auto weights = std::make_shared<Weights>(texts_of(info[0], "paths"), texts_of(info[1], "identities"));
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("bytes", static_cast<double>(weights->bytes()));
    result.Set("id", engine_of(info).handles.add(std::move(weights)));
    return result;
  });
}

// (plan bytes, weights or null) → a handle of the result of `make`.
template <class Plan, class Make>
Napi::Value load_plan(const Napi::CallbackInfo& info, Make&& make) {
  return guarded(info.Env(), [&] {
    Engine& engine = engine_of(info);
    const Bytes bytes = bytes_of(info[0], "plan");
    std::shared_ptr<Weights> weights;
    if (!info[1].IsNull() && !info[1].IsUndefined())
      weights = engine.handles.get<Weights>(number_of(info[1], "weights"), "weights");
    return Napi::Number::New(
        info.Env(), engine.handles.add(make(std::make_shared<Plan>(bytes.data, bytes.size, std::move(weights)))));
  });
}

// A run of a session on the engine's thread: `work(session, request, job)` gives a RunResult.
template <class Session, class Work>
Napi::Value submit_turn(const Napi::CallbackInfo& info, std::shared_ptr<Session> session, RunRequest given,
                        Work&& work) {
  const auto request = std::make_shared<RunRequest>(std::move(given));
  const auto result = std::make_shared<RunResult>();
  const void* subject = session.get();
  return engine_of(info).submit(
      info.Env(),
      [session = std::move(session), request, result, work](Job& job) { *result = work(*session, *request, job); },
      [result](Napi::Env env) { return run_result(env, *result); }, {.subject = subject});
}

template <class Session, class Work>
Napi::Value submit_run(const Napi::CallbackInfo& info, Work&& work) {
  return guarded(info.Env(), [&] {
    return submit_turn(info, session_of<Session>(info), run_request(object_of(info[1], "request")), work);
  });
}

// A run that is joined with others where Joint takes it, and otherwise has its turn by `work`.
// `make` gives the engine's Joint, once.
template <class Session, class Joint, class Make, class Work>
Napi::Value submit_joint_run(const Napi::CallbackInfo& info, Make&& make, Work&& work) {
  return guarded(info.Env(), [&] {
    Engine& engine = engine_of(info);
    auto session = session_of<Session>(info);
    RunRequest request = run_request(object_of(info[1], "request"));
    if (!Joint::takes(*session, request)) return submit_turn(info, std::move(session), std::move(request), work);
    if (!engine.part) engine.part = make();
    const auto joint = std::static_pointer_cast<Joint>(engine.part);
    const auto run = std::make_shared<JointRun<Session>>();
    const void* subject = session.get();
    run->session = std::move(session);
    run->request = std::move(request);
    run->early = !engine.is_queued(subject);
    const auto joins = [run, joint, &engine](const std::shared_ptr<Job>& job) {
      run->cancel = &job->cancel;
      run->done = [job, &engine](std::unique_ptr<Error> error) {
        job->error = std::move(error);
        engine.settle(*job);
      };
      joint->add(run);
    };
    return engine.submit(
        info.Env(), [run, joint](Job&) { joint->drive(run); },
        [run](Napi::Env env) { return run_result(env, run->result); }, {.subject = subject, .joins = joins});
  });
}

template <class Session>
Napi::Value save_session(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto session = session_of<Session>(info);
    const size_t positions = size_of(info[1], "positions");
    const auto saved = std::make_shared<std::vector<uint8_t>>();
    return engine_of(info).submit(
        info.Env(), [session, positions, saved](Job&) { *saved = session->save(positions); },
        [saved](Napi::Env env) { return copy_bytes(env, saved->data(), saved->size()); }, {.subject = session.get()});
  });
}

template <class Session>
Napi::Value restore_session(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto session = session_of<Session>(info);
    const size_t positions = size_of(info[1], "positions");
    const Bytes bytes = bytes_of(info[2], "state");
    const auto saved = std::make_shared<std::vector<uint8_t>>(bytes.data, bytes.data + bytes.size);
    return engine_of(info).submit(
        info.Env(), [session, positions, saved](Job&) { session->restore(positions, saved->data(), saved->size()); },
        [](Napi::Env env) { return env.Undefined(); }, {.subject = session.get()});
  });
}

template <class Session>
Napi::Value reset_session(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto session = session_of<Session>(info);
    return engine_of(info).submit(
        info.Env(), [session](Job&) { session->reset(); }, [](Napi::Env env) { return env.Undefined(); },
        {.subject = session.get()});
  });
}

// (session, positions) → {reserved, states, used}
template <class Session>
Napi::Value session_bytes(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto session = session_of<Session>(info);
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("reserved", static_cast<double>(session->reserved_bytes()));
    result.Set("states", static_cast<double>(session->state_bytes()));
    result.Set("used", static_cast<double>(session->state_bytes(size_of(info[1], "positions"))));
    return result;
  });
}

inline Napi::Value cancel(const Napi::CallbackInfo& info) {
  return guarded(info.Env(),
                 [&] { return Napi::Boolean::New(info.Env(), engine_of(info).cancel(number_of(info[0], "job"))); });
}

// An engine for this environment, which ends while the way back to it still exists: jobs are
// cancelled, threads joined.
inline void attach_engine(Napi::Env env) {
  auto* engine = new Engine(env);
  env.SetInstanceData(engine);
  env.AddCleanupHook([engine] { engine->close(); });
}

using Callback = Napi::Value (*)(const Napi::CallbackInfo&);
inline void export_functions(Napi::Env env, Napi::Object exports,
                             std::initializer_list<std::pair<const char*, Callback>> functions) {
  for (const auto& [name, function] : functions) exports.Set(name, Napi::Function::New(env, function, name));
}

}  // namespace rlx::binding
