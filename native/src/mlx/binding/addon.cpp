// The MLX addon: main/node/native/mlxAddon.ts has the same list with types. Everything that touches
// MLX runs on the engine's own thread, the end of sessions and plans too.
#include <napi.h>

#include <mlx/compile.h>
#include <mlx/device.h>
#include <mlx/memory.h>
#include <mlx/transforms.h>
#include <mlx/version.h>

#include "../../binding/session_calls.h"
#include "../joint.h"

namespace rlx::gpu {
namespace {

using namespace rlx::binding;

// Raised when a function here changes its meaning; main/node/native/mlxAddon.ts holds the same
// number.
constexpr int kAbi = 5;

Napi::Value functions(const Napi::CallbackInfo& info) {
  Napi::Array result = Napi::Array::New(info.Env());
  for (const char* name : function_names()) result.Set(result.Length(), name);
  return result;
}

Napi::Value memory(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("active", static_cast<double>(mx::get_active_memory()));
    result.Set("peak", static_cast<double>(mx::get_peak_memory()));
    result.Set("cache", static_cast<double>(mx::get_cache_memory()));
    result.Set("limit", static_cast<double>(mx::get_memory_limit()));
    return result;
  });
}

// {limit?, cacheLimit?, clearCache?, resetPeak?}
Napi::Value set_memory(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const Napi::Object options = object_of(info[0], "options");
    const Napi::Value limit = options.Get("limit"), cache = options.Get("cacheLimit");
    if (!limit.IsUndefined()) mx::set_memory_limit(size_of(limit, "limit"));
    if (!cache.IsUndefined()) mx::set_cache_limit(size_of(cache, "cacheLimit"));
    if (options.Get("clearCache").ToBoolean()) mx::clear_cache();
    if (options.Get("resetPeak").ToBoolean()) mx::reset_peak_memory();
    return info.Env().Undefined();
  });
}

// Joins element-wise calls of compiled traces into kernels. On a CPU each of them needs a C++
// compiler for about a second.
Napi::Value set_fusion(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    mx::set_compile_mode(info[0].ToBoolean() ? mx::CompileMode::enabled : mx::CompileMode::no_fuse);
    return info.Env().Undefined();
  });
}

Napi::Value load(const Napi::CallbackInfo& info) {
  return load_plan<Plan>(info, [](std::shared_ptr<Plan> plan) { return std::make_shared<Model>(std::move(plan)); });
}

std::shared_ptr<Model> model_of(const Napi::CallbackInfo& info) {
  return engine_of(info).handles.get<Model>(number_of(info[0], "plan"), "plan");
}
Napi::Value plan_facts(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto model = model_of(info);
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("weightBytes", static_cast<double>(model->bytes()));
    result.Set("traces", static_cast<double>(model->traces()));
    result.Set("joinedProducts", static_cast<double>(model->joined_products()));
    return result;
  });
}

// Reads the weights into MLX's memory now, and says how each is held.
Napi::Value weight_report(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto model = model_of(info);
    const auto report = std::make_shared<std::vector<HeldReport>>();
    return engine_of(info).submit(
        info.Env(), [model, report](Job& job) { *report = model->report(job.cancel); },
        [report](Napi::Env env) -> Napi::Value {
          Napi::Array list = Napi::Array::New(env);
          for (const HeldReport& entry : *report) {
            Napi::Object item = Napi::Object::New(env);
            item.Set("name", entry.name);
            item.Set("type", entry.type);
            item.Set("form", entry.form);
            item.Set("bytes", static_cast<double>(entry.bytes));
            item.Set("largestError", entry.largest);
            item.Set("relativeError", entry.relative);
            list.Set(list.Length(), item);
          }
          return list;
        });
  });
}

Mode mode_named(const std::string& name) {
  if (name == "lazy") return Mode::lazy;
  if (name == "eager") return Mode::eager;
  if (name == "compiled") return Mode::compiled;
  reject("mode", "lazy, eager or compiled");
}

Napi::Value open_session(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto model = model_of(info);
    const Napi::Object options = object_of(info[1], "options");
    auto session = std::make_shared<Session>(model, mode_named(text_of(options.Get("mode"), "mode")),
                                             sizes_of(options.Get("symbols"), "symbols"));
    return Napi::Number::New(info.Env(), engine_of(info).handles.add(std::move(session)));
  });
}

Napi::Value run(const Napi::CallbackInfo& info) {
  return submit_joint_run<Session, MlxJoint>(
      info, [] { return std::make_shared<MlxJoint>(); },
      [](Session& session, const RunRequest& request, Job& job) { return session.run(request, job.cancel); });
}

Napi::Value run_slots(const Napi::CallbackInfo& info) {
  return submit_run<Session>(info, [](Session& session, const RunRequest& request, Job& job) {
    return session.run_slots(request, job.cancel);
  });
}

Napi::Value commit(const Napi::CallbackInfo& info) {
  return submit_run<Session>(
      info, [](Session& session, const RunRequest& request, Job& job) { return session.commit(request, job.cancel); });
}

Napi::Value read_slot(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const Bytes target = bytes_of(info[2], "target");
    session_of<Session>(info)->read_slot(text_of(info[1], "name"), target.data, target.size);
    return info.Env().Undefined();
  });
}

Napi::Value sync(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    auto session = session_of<Session>(info);
    const auto result = std::make_shared<RunResult>();
    return engine_of(info).submit(
        info.Env(), [session, result](Job&) { *result = session->sync(); },
        [result](Napi::Env env) { return run_result(env, *result); }, {.subject = session.get()});
  });
}

Napi::Value fork_session(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    Engine& engine = engine_of(info);
    const auto session = session_of<Session>(info);
    const auto copy = std::make_shared<std::shared_ptr<Session>>();
    return engine.submit(
        info.Env(), [session, copy](Job&) { *copy = session->fork(); },
        [&engine, copy](Napi::Env env) { return Napi::Number::New(env, engine.handles.add(std::move(*copy))); },
        {.subject = session.get()});
  });
}

// The last reference goes on the engine's thread, whichever of dispose and a running job is later.
Napi::Value dispose(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    Engine& engine = engine_of(info);
    const double id = number_of(info[0], "handle");
    std::shared_ptr<void> object = engine.handles.take(id);
    if (!object) return Napi::Boolean::New(info.Env(), false);
    // Swapped out, because the queue's function objects are copied and destroyed here and there.
    auto last = std::make_shared<std::shared_ptr<void>>(std::move(object));
    engine.lane().push([last] { last->reset(); });
    return Napi::Boolean::New(info.Env(), true);
  });
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  attach_engine(env);
  const bool gpu = mx::is_available(mx::Device(mx::Device::gpu));
  mx::set_compile_mode(gpu ? mx::CompileMode::enabled : mx::CompileMode::no_fuse);
  exports.Set("abi", kAbi);
  exports.Set("version", mx::version());
  exports.Set("device", gpu ? "gpu" : "cpu");
  export_functions(env, exports,
                   {{"functions", functions},
                    {"counts", counts<Model, Session>},
                    {"memory", memory},
                    {"setMemory", set_memory},
                    {"setFusion", set_fusion},
                    {"openWeights", open_weights},
                    {"loadPlan", load},
                    {"planFacts", plan_facts},
                    {"weightReport", weight_report},
                    {"openSession", open_session},
                    {"run", run},
                    {"runSlots", run_slots},
                    {"readSlot", read_slot},
                    {"commit", commit},
                    {"sync", sync},
                    {"fork", fork_session},
                    {"save", save_session<Session>},
                    {"restore", restore_session<Session>},
                    {"reset", reset_session<Session>},
                    {"sessionBytes", session_bytes<Session>},
                    {"cancel", cancel},
                    {"dispose", dispose}});
  return exports;
}

}  // namespace
}  // namespace rlx::gpu

static Napi::Object rlx_mlx_initialise(Napi::Env env, Napi::Object exports) {
  return rlx::gpu::initialise(env, exports);
}

NODE_API_MODULE(rlx_mlx, rlx_mlx_initialise)
