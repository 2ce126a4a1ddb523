// The addon's face: main/node/addon.ts has the same list with types. Long work goes to the lane; what stays here is
// short (opening, sizes, conversions of one tensor).
#include <napi.h>

#include <chrono>
#include <cstring>

#include "convert.h"
#include "cpu/bandwidth.h"
#include "cpu/kernel.h"
#include "cpu/plan.h"
#include "cpu/session.h"
#include "engine.h"
#include "run_values.h"

namespace rlx::binding {
namespace {

// Raised when a function here changes its meaning; main/node/addon.ts holds the same number.
constexpr int kAbi = 2;

Engine& engine_of(const Napi::CallbackInfo& info) { return *info.Env().GetInstanceData<Engine>(); }

const kernels::Dispatch& kernels_named(const Napi::Value& value) {
  if (value.IsUndefined() || value.IsNull()) return *kernels::dispatch(nullptr);
  const std::string name = text_of(value, "isa");
  const kernels::Dispatch* table = kernels::dispatch(name.c_str());
  if (table == nullptr)
    fail(Code::input_argument, "[addon] instruction set %s: this processor or this build does not have it", name.c_str());
  return *table;
}

kernels::Type type_named(const Napi::Value& value) {
  const std::string name = text_of(value, "type");
  for (size_t i = 0; i < kernels::kTypeCount; i++)
    if (name == kernels::kTypeInfo[i].name) return static_cast<kernels::Type>(i);
  fail(Code::unsupported_tensor_type, "[addon] no kernel reads %s", name.c_str());
}

// ---------------------------------------------------------------------------------------------- about

Napi::Value kernel_list(const Napi::CallbackInfo& info) {
  Napi::Array result = Napi::Array::New(info.Env());
  for (const char* name : kernel_names()) result.Set(result.Length(), name);
  return result;
}

Napi::Value instruction_sets(const Napi::CallbackInfo& info) {
  kernels::Isa found[6];
  const size_t count = kernels::available_isas(found);
  Napi::Array result = Napi::Array::New(info.Env());
  for (size_t i = 0; i < count; i++) result.Set(result.Length(), kernels::isa_name(found[i]));
  return result;
}

// (isa?) → [{kernels, how}]: how the table of an instruction set, the best one unless named, runs its kernels.
Napi::Value notes(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const kernels::KernelNote* found = nullptr;
    const size_t count = kernels::kernel_notes(kernels_named(info[0]).isa, &found);
    Napi::Array result = Napi::Array::New(info.Env());
    for (size_t i = 0; i < count; i++) {
      Napi::Object note = Napi::Object::New(info.Env());
      note.Set("kernels", found[i].kernel);
      note.Set("how", found[i].how);
      result.Set(result.Length(), note);
    }
    return result;
  });
}

Napi::Value counts(const Napi::CallbackInfo& info) {
  const Engine& engine = engine_of(info);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("weights", static_cast<double>(engine.handles.count<Weights>()));
  result.Set("plans", static_cast<double>(engine.handles.count<Plan>()));
  result.Set("sessions", static_cast<double>(engine.handles.count<Session>()));
  result.Set("jobs", static_cast<double>(engine.jobs()));
  return result;
}

// -------------------------------------------------------------------------------------------- weights

Napi::Value open_weights(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    auto weights = std::make_shared<Weights>(texts_of(info[0], "paths"));
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("bytes", static_cast<double>(weights->bytes()));
    result.Set("id", engine_of(info).handles.add(std::move(weights)));
    return result;
  });
}

Napi::Value read_weights(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto weights = engine_of(info).handles.get<Weights>(number_of(info[0], "weights"), "weights");
    const Bytes target = bytes_of(info[3], "target");
    weights->check();
    const uint8_t* source = weights->at(size_of(info[1], "file"), size_of(info[2], "offset"), target.size);
    if (target.size > 0) std::memcpy(target.data, source, target.size);
    weights->check();
    return info.Env().Undefined();
  });
}

Napi::Value check_weights(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    engine_of(info).handles.get<Weights>(number_of(info[0], "weights"), "weights")->check();
    return info.Env().Undefined();
  });
}

// ------------------------------------------------------------------------------------ plans and sessions

Napi::Value load_plan(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    Engine& engine = engine_of(info);
    const Bytes bytes = bytes_of(info[0], "plan");
    std::shared_ptr<Weights> weights;
    if (!info[1].IsNull() && !info[1].IsUndefined()) weights = engine.handles.get<Weights>(number_of(info[1], "weights"), "weights");
    return Napi::Number::New(info.Env(), engine.handles.add(std::make_shared<Plan>(bytes.data, bytes.size, std::move(weights))));
  });
}

// The system gives a session's pages as they are touched, so what it reserves is an upper bound, and a large cache that is
// never filled would make the collector run for nothing: a session counts as at most this. Weights do not count: they are
// pages of a file, which the system takes back by itself.
constexpr size_t kMostAccounted = 16u << 20;

Napi::Value session_handle(Napi::Env env, Engine& engine, std::shared_ptr<Session> session) {
  const size_t bytes = std::min(session->reserved_bytes(), kMostAccounted);
  const double handle = engine.handles.add(std::move(session));
  engine.account(env, handle, bytes);
  return Napi::Number::New(env, handle);
}

Napi::Value open_session(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    Engine& engine = engine_of(info);
    const auto plan = engine.handles.get<Plan>(number_of(info[0], "plan"), "plan");
    const Napi::Object options = object_of(info[1], "options");
    SessionOptions session;
    session.threads = size_of(options.Get("threads"), "threads");
    if (session.threads < 1 || session.threads > 1024) reject("threads", "1 to 1024");
    session.kernels = &kernels_named(options.Get("isa"));
    session.symbols = sizes_of(options.Get("symbols"), "symbols");
    return session_handle(info.Env(), engine, std::make_shared<Session>(plan, std::move(session)));
  });
}

std::shared_ptr<Session> session_of(const Napi::CallbackInfo& info) {
  return engine_of(info).handles.get<Session>(number_of(info[0], "session"), "session");
}

Napi::Value run(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    Engine& engine = engine_of(info);
    const auto session = session_of(info);
    const auto request = std::make_shared<RunRequest>(run_request(object_of(info[1], "request")));
    const auto result = std::make_shared<RunResult>();
    return engine.submit(
        info.Env(), [&engine, session, request, result](Job& job) { *result = session->run(engine.lane().pool(), *request, job.cancel); },
        [result](Napi::Env env) { return run_result(env, *result); });
  });
}

Napi::Value fork_session(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    Engine& engine = engine_of(info);
    const auto session = session_of(info);
    const size_t positions = size_of(info[1], "positions");
    const auto copy = std::make_shared<std::shared_ptr<Session>>();
    return engine.submit(
        info.Env(), [session, positions, copy](Job&) { *copy = session->fork(positions); },
        [&engine, copy](Napi::Env env) { return session_handle(env, engine, *copy); });
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
    result.Set("reserved", static_cast<double>(session->reserved_bytes()));
    result.Set("states", static_cast<double>(session->state_bytes()));
    result.Set("used", static_cast<double>(session->state_bytes(size_of(info[1], "positions"))));
    return result;
  });
}

Napi::Value cancel(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return Napi::Boolean::New(info.Env(), engine_of(info).cancel(number_of(info[0], "job"))); });
}

Napi::Value dispose(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] { return Napi::Boolean::New(info.Env(), engine_of(info).dispose(info.Env(), number_of(info[0], "handle"))); });
}

// ------------------------------------------------------------------------------------------- conversions

// (type, packed bytes, Float32Array to fill, isa?)
Napi::Value dequantize(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const kernels::Type type = type_named(info[0]);
    const Bytes source = bytes_of(info[1], "bytes");
    if (!info[2].IsTypedArray() || info[2].As<Napi::TypedArray>().TypedArrayType() != napi_float32_array) reject("target", "a Float32Array");
    const auto target = info[2].As<Napi::Float32Array>();
    const kernels::TypeInfo& block = kernels::type_info(type);
    const size_t count = target.ElementLength();
    if (count % block.block != 0 || count / block.block * block.bytes != source.size)
      fail(Code::input_argument, "[addon] dequantize %s: %zu bytes do not make %zu elements", block.name, source.size, count);
    if (count > 0) kernels_named(info[3]).dequantize(type, source.data, info[2].As<Napi::Float32Array>().Data(), count);
    return info.Env().Undefined();
  });
}

// (type "f16" | "bf16", Float32Array, Uint16Array to fill, isa?)
Napi::Value halve(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const std::string type = text_of(info[0], "type");
    const Bytes source = bytes_of(info[1], "values");
    const Bytes target = bytes_of(info[2], "target");
    if (source.size != target.size * 2 || (type != "f16" && type != "bf16")) reject("halve", "f16 or bf16, and as many halves as floats");
    const kernels::Dispatch& table = kernels_named(info[3]);
    const auto* from = reinterpret_cast<const float*>(source.data);
    auto* to = reinterpret_cast<uint16_t*>(target.data);
    if (source.size > 0) (type == "f16" ? table.f32_to_f16 : table.f32_to_bf16)(from, to, source.size / 4);
    return info.Env().Undefined();
  });
}

// Bytes per second that `threads` threads read from memory, for the roof of a profile.
Napi::Value bandwidth(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    Engine& engine = engine_of(info);
    const size_t threads = size_of(info[0], "threads");
    if (threads < 1 || threads > 1024) reject("threads", "1 to 1024");
    const size_t bytes = size_of(info[1], "bytes");
    const double seconds = number_of(info[2], "seconds");
    const auto result = std::make_shared<double>(0);
    return engine.submit(
        info.Env(), [&engine, threads, bytes, seconds, result](Job& job) { *result = read_bandwidth(engine.lane().pool(), threads, bytes, seconds, job.cancel); },
        [result](Napi::Env env) { return Napi::Number::New(env, *result); });
  });
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  auto* engine = new Engine(env);
  env.SetInstanceData(engine);
  // Before the environment goes: jobs are cancelled and threads joined while the way back still exists.
  env.AddCleanupHook([engine] { engine->close(); });
  exports.Set("abi", kAbi);
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports.Set(name, Napi::Function::New(env, function, name));
  };
  add("kernels", kernel_list);
  add("isas", instruction_sets);
  add("kernelNotes", notes);
  add("counts", counts);
  add("openWeights", open_weights);
  add("readWeights", read_weights);
  add("checkWeights", check_weights);
  add("loadPlan", load_plan);
  add("openSession", open_session);
  add("run", run);
  add("fork", fork_session);
  add("save", save_session);
  add("restore", restore_session);
  add("reset", reset_session);
  add("sessionBytes", session_bytes);
  add("cancel", cancel);
  add("dispose", dispose);
  add("dequantize", dequantize);
  add("halve", halve);
  add("bandwidth", bandwidth);
  return exports;
}

}  // namespace
}  // namespace rlx::binding

static Napi::Object rlx_initialise(Napi::Env env, Napi::Object exports) { return rlx::binding::initialise(env, exports); }

NODE_API_MODULE(rlx, rlx_initialise)
