// The face of the MLX addon: main/node/mlxAddon.ts has the same list with types. Everything that touches MLX runs on the
// engine's own thread, the end of sessions and plans too.
#include <napi.h>

#include <mlx/compile.h>
#include <mlx/device.h>
#include <mlx/memory.h>
#include <mlx/transforms.h>
#include <mlx/version.h>

#include "../binding/convert.h"
#include "../binding/engine.h"
#include "../binding/run_values.h"
#include "session.h"

namespace rlx::gpu {
namespace {

using namespace rlx::binding;

// Raised when a function here changes its meaning; main/node/mlxAddon.ts holds the same number.
constexpr int kAbi = 2;

Engine& engine_of(const Napi::CallbackInfo& info) { return *info.Env().GetInstanceData<Engine>(); }

Napi::Value functions(const Napi::CallbackInfo& info) {
  Napi::Array result = Napi::Array::New(info.Env());
  for (const char* name : function_names()) result.Set(result.Length(), name);
  return result;
}

Napi::Value counts(const Napi::CallbackInfo& info) {
  const Engine& engine = engine_of(info);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("weights", static_cast<double>(engine.handles.count<Weights>()));
  result.Set("plans", static_cast<double>(engine.handles.count<Model>()));
  result.Set("sessions", static_cast<double>(engine.handles.count<Session>()));
  result.Set("jobs", static_cast<double>(engine.jobs()));
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

// Joins element-wise calls of compiled traces into kernels. On a CPU each of them needs a C++ compiler for about a second.
Napi::Value set_fusion(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    mx::set_compile_mode(info[0].ToBoolean() ? mx::CompileMode::enabled : mx::CompileMode::no_fuse);
    return info.Env().Undefined();
  });
}

Napi::Value open_weights(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    auto weights = std::make_shared<Weights>(texts_of(info[0], "paths"));
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("bytes", static_cast<double>(weights->bytes()));
    result.Set("id", engine_of(info).handles.add(std::move(weights)));
    return result;
  });
}

Napi::Value load_plan(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    Engine& engine = engine_of(info);
    const Bytes bytes = bytes_of(info[0], "plan");
    std::shared_ptr<Weights> weights;
    if (!info[1].IsNull() && !info[1].IsUndefined()) weights = engine.handles.get<Weights>(number_of(info[1], "weights"), "weights");
    auto plan = std::make_shared<Plan>(bytes.data, bytes.size, std::move(weights));
    return Napi::Number::New(info.Env(), engine.handles.add(std::make_shared<Model>(std::move(plan))));
  });
}

std::shared_ptr<Model> model_of(const Napi::CallbackInfo& info) {
  return engine_of(info).handles.get<Model>(number_of(info[0], "plan"), "plan");
}
std::shared_ptr<Session> session_of(const Napi::CallbackInfo& info) {
  return engine_of(info).handles.get<Session>(number_of(info[0], "session"), "session");
}

Napi::Value plan_facts(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto model = model_of(info);
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("weightBytes", static_cast<double>(model->bytes()));
    result.Set("traces", static_cast<double>(model->traces()));
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
    auto session = std::make_shared<Session>(model, mode_named(text_of(options.Get("mode"), "mode")), sizes_of(options.Get("symbols"), "symbols"));
    return Napi::Number::New(info.Env(), engine_of(info).handles.add(std::move(session)));
  });
}

Napi::Value run(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    auto session = session_of(info);
    const auto request = std::make_shared<RunRequest>(run_request(object_of(info[1], "request")));
    const auto result = std::make_shared<RunResult>();
    return engine_of(info).submit(
        info.Env(), [session, request, result](Job& job) { *result = session->run(*request, job.cancel); },
        [result](Napi::Env env) { return run_result(env, *result); });
  });
}

Napi::Value run_slots(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    auto session = session_of(info);
    const auto request = std::make_shared<RunRequest>(run_request(object_of(info[1], "request")));
    return engine_of(info).submit(
        info.Env(), [session, request](Job& job) { session->run_slots(*request, job.cancel); },
        [](Napi::Env env) { return env.Undefined(); });
  });
}

Napi::Value read_slot(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const Bytes target = bytes_of(info[2], "target");
    session_of(info)->read_slot(text_of(info[1], "name"), target.data, target.size);
    return info.Env().Undefined();
  });
}

Napi::Value commit(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    auto session = session_of(info);
    const auto request = std::make_shared<RunRequest>(run_request(object_of(info[1], "request")));
    return engine_of(info).submit(
        info.Env(), [session, request](Job& job) { session->commit(*request, job.cancel); },
        [](Napi::Env env) { return env.Undefined(); });
  });
}

Napi::Value sync(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    auto session = session_of(info);
    const auto result = std::make_shared<RunResult>();
    return engine_of(info).submit(
        info.Env(), [session, result](Job&) { *result = session->sync(); },
        [result](Napi::Env env) { return run_result(env, *result); });
  });
}

Napi::Value fork_session(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    Engine& engine = engine_of(info);
    const auto session = session_of(info);
    const auto copy = std::make_shared<std::shared_ptr<Session>>();
    return engine.submit(
        info.Env(), [session, copy](Job&) { *copy = session->fork(); },
        [&engine, copy](Napi::Env env) { return Napi::Number::New(env, engine.handles.add(std::move(*copy))); });
  });
}

Napi::Value save_session(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto session = session_of(info);
    const size_t positions = size_of(info[1], "positions");
    const auto saved = std::make_shared<std::vector<uint8_t>>();
    return engine_of(info).submit(
        info.Env(), [session, positions, saved](Job&) { *saved = session->save(positions); },
        [saved](Napi::Env env) { return copy_bytes(env, saved->data(), saved->size()); });
  });
}

Napi::Value restore_session(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto session = session_of(info);
    const size_t positions = size_of(info[1], "positions");
    const Bytes bytes = bytes_of(info[2], "state");
    const auto saved = std::make_shared<std::vector<uint8_t>>(bytes.data, bytes.data + bytes.size);
    return engine_of(info).submit(
        info.Env(), [session, positions, saved](Job&) { session->restore(positions, saved->data(), saved->size()); },
        [](Napi::Env env) { return env.Undefined(); });
  });
}

Napi::Value reset_session(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto session = session_of(info);
    return engine_of(info).submit(
        info.Env(), [session](Job&) { session->reset(); }, [](Napi::Env env) { return env.Undefined(); });
  });
}

Napi::Value session_bytes(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto session = session_of(info);
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("reserved", static_cast<double>(session->state_bytes() + session->slot_bytes()));
    result.Set("states", static_cast<double>(session->state_bytes()));
    result.Set("used", static_cast<double>(session->state_bytes(size_of(info[1], "positions"))));
    return result;
  });
}

Napi::Value cancel(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return Napi::Boolean::New(info.Env(), engine_of(info).cancel(number_of(info[0], "job"))); });
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
  auto* engine = new Engine(env);
  env.SetInstanceData(engine);
  env.AddCleanupHook([engine] { engine->close(); });
  const bool gpu = mx::is_available(mx::Device(mx::Device::gpu));
  mx::set_compile_mode(gpu ? mx::CompileMode::enabled : mx::CompileMode::no_fuse);
  exports.Set("abi", kAbi);
  exports.Set("version", mx::version());
  exports.Set("device", gpu ? "gpu" : "cpu");
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports.Set(name, Napi::Function::New(env, function, name));
  };
  add("functions", functions);
  add("counts", counts);
  add("memory", memory);
  add("setMemory", set_memory);
  add("setFusion", set_fusion);
  add("openWeights", open_weights);
  add("loadPlan", load_plan);
  add("planFacts", plan_facts);
  add("weightReport", weight_report);
  add("openSession", open_session);
  add("run", run);
  add("runSlots", run_slots);
  add("readSlot", read_slot);
  add("commit", commit);
  add("sync", sync);
  add("fork", fork_session);
  add("save", save_session);
  add("restore", restore_session);
  add("reset", reset_session);
  add("sessionBytes", session_bytes);
  add("cancel", cancel);
  add("dispose", dispose);
  return exports;
}

}  // namespace
}  // namespace rlx::gpu

static Napi::Object rlx_mlx_initialise(Napi::Env env, Napi::Object exports) { return rlx::gpu::initialise(env, exports); }

NODE_API_MODULE(rlx_mlx, rlx_mlx_initialise)
