// The CPU engine's addon: main/node/native/addon.ts has the same list with types. Long work runs on
// the lane; what runs here is short (opening, sizes, conversions of one tensor).
#include <napi.h>

#include <array>
#include <cstring>
#include <memory>
#include <mutex>

#include "../../binding/convert.h"
#include "../../binding/session_calls.h"
#include "../bandwidth.h"
#include "../joint.h"
#include "../kernel.h"
#include "../measure_rows.h"
#include "../plan.h"
#include "../repack.h"
#include "../session.h"
#include "stored_rows.h"

namespace rlx::binding {
namespace {

// Raised when a function here changes its meaning; main/node/native/addon.ts holds the same number.
constexpr int kAbi = 9;

const kernels::Dispatch& kernels_named(const Napi::Value& value) {
  if (value.IsUndefined() || value.IsNull()) return *kernels::dispatch(nullptr);
  const std::string name = text_of(value, "isa");
  const kernels::Dispatch* table = kernels::dispatch(name.c_str());
  if (table == nullptr)
    fail(Code::input_argument, "[addon] instruction set %s: this processor or this build does not have it",
         name.c_str());
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
  kernels::Isa found[kernels::kIsaCount];
  const size_t count = kernels::available_isas(found);
  Napi::Array result = Napi::Array::New(info.Env());
  for (size_t i = 0; i < count; i++) result.Set(result.Length(), kernels::isa_name(found[i]));
  return result;
}

// (isa?) → [{kernels, how}]: how the table of an instruction set, the best one unless named, runs
// its kernels.
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

// -------------------------------------------------------------------------------------------- weights

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

// (session, whether to copy, bytes of memory that are available)
Napi::Value enlarge_pages(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto session = session_of<Session>(info);
    const auto& weights = session->plan().weights;
    const auto way = info[1].ToBoolean() ? HugePages::Way::copy : HugePages::Way::reread;
    if (weights) weights->use_huge_pages(way, size_of(info[2], "available"));
    return info.Env().Undefined();
  });
}

// {bytes in large pages, whether the move has ended}
Napi::Value large_pages(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const auto weights = engine_of(info).handles.get<Weights>(number_of(info[0], "weights"), "weights");
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("bytes", static_cast<double>(weights->huge().bytes()));
    result.Set("done", weights->huge().done());
    return result;
  });
}

Napi::Value load(const Napi::CallbackInfo& info) {
  return load_plan<Plan>(info, [](std::shared_ptr<Plan> plan) { return plan; });
}

// A session counts for the collector with at most this. Its reserved bytes are an upper bound,
// because the system gives pages as they are touched; a large cache that is never filled would make
// the collector run for nothing. Weights do not count: they are pages of a file, which the system
// reclaims, or a copy that was requested.
constexpr size_t kMostAccounted = 16u << 20;

Napi::Value session_handle(Napi::Env env, Engine& engine, std::shared_ptr<Session> session) {
  const size_t bytes = std::min(session->reserved_bytes(), kMostAccounted);
  const double handle = engine.handles.add(std::move(session));
  engine.account(env, handle, bytes);
  return Napi::Number::New(env, handle);
}

// The prefetch tuners of this process, one for each width of vectors. Never destroyed: threads may
// still multiply while the process ends.
const PrefetchTuner& tuner_for(const kernels::Dispatch& kernels) {
  static std::mutex mutex;
  static auto& tuners = *new std::array<std::unique_ptr<PrefetchTuner>, 2>();
  const std::lock_guard lock(mutex);
  std::unique_ptr<PrefetchTuner>& tuner = tuners[kernels::is_avx512(kernels.isa) ? 1 : 0];
  if (!tuner) tuner = std::make_unique<PrefetchTuner>(kernels);
  return *tuner;
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
    // Kernels of other processors do not prefetch.
    if (kernels::is_x86(session.kernels->isa)) session.tuner = &tuner_for(*session.kernels);
    session.symbols = sizes_of(options.Get("symbols"), "symbols");
    return session_handle(info.Env(), engine, std::make_shared<Session>(plan, std::move(session)));
  });
}

Napi::Value run(const Napi::CallbackInfo& info) {
  Engine& engine = engine_of(info);
  return submit_joint_run<Session, CpuJoint>(
      info, [&engine] { return std::make_shared<CpuJoint>(engine.lane().pool()); },
      [&engine](Session& session, const RunRequest& request, Job& job) {
        return session.run(engine.lane().pool(), request, job.cancel);
      });
}

Napi::Value fork_session(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    Engine& engine = engine_of(info);
    const auto session = session_of<Session>(info);
    const size_t positions = size_of(info[1], "positions");
    const auto copy = std::make_shared<std::shared_ptr<Session>>();
    return engine.submit(
        info.Env(), [session, positions, copy](Job&) { *copy = session->fork(positions); },
        [&engine, copy](Napi::Env env) { return session_handle(env, engine, *copy); }, {.subject = session.get()});
  });
}

Napi::Value dispose(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    return Napi::Boolean::New(info.Env(), engine_of(info).dispose(info.Env(), number_of(info[0], "handle")));
  });
}

// ------------------------------------------------------------------------------------------- conversions

// (type, packed bytes, Float32Array to fill, isa?)
Napi::Value dequantize(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const kernels::Type type = type_named(info[0]);
    const Bytes source = bytes_of(info[1], "bytes");
    if (!info[2].IsTypedArray() || info[2].As<Napi::TypedArray>().TypedArrayType() != napi_float32_array)
      reject("target", "a Float32Array");
    const auto target = info[2].As<Napi::Float32Array>();
    const kernels::TypeInfo& block = kernels::type_info(type);
    const size_t count = target.ElementLength();
    if (count % block.block != 0 || count / block.block * block.bytes != source.size)
      fail(Code::input_argument, "[addon] dequantize %s: %zu bytes do not make %zu elements", block.name, source.size,
           count);
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
    if (source.size != target.size * 2 || (type != "f16" && type != "bf16"))
      reject("halve", "f16 or bf16, and as many halves as floats");
    const kernels::Dispatch& table = kernels_named(info[3]);
    const auto* from = reinterpret_cast<const float*>(source.data);
    auto* to = reinterpret_cast<uint16_t*>(target.data);
    if (source.size > 0) (type == "f16" ? table.f32_to_f16 : table.f32_to_bf16)(from, to, source.size / 4);
    return info.Env().Undefined();
  });
}

// (rows, isa?) → the sums of their error. The arrays are read in place until the promise settles:
// they must not change before. On a lane of its own, so that generation and export do not delay
// each other.
Napi::Value stored_error(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    const Napi::Object object = object_of(info[0], "rows");
    const auto own = stored_rows(object, type_named(object.Get("type")));
    const kernels::Dispatch& table = kernels_named(info[1]);
    const auto sums = std::make_shared<kernels::StoredSums>();
    return engine_of(info).submit(
        info.Env(), [own, &table, sums](Job& job) { *sums = rlx::stored_error(table, own->rows, job.cancel); },
        [sums](Napi::Env env) {
          Napi::Object result = Napi::Object::New(env);
          result.Set("energy", sums->energy);
          result.Set("error", sums->error);
          result.Set("notFinite", static_cast<double>(sums->not_finite));
          result.Set("overflowed", static_cast<double>(sums->overflowed));
          return result;
        },
        {.aside = true});
  });
}

// (from type, packed bytes, to type, columns, importance | null, threads, isa?) → {bytes, energy,
// error, weighted, notFinite}. The arrays are copied: they may be changed or given away at once.| null, threads, isa?) → {bytes, energy, error, weighted, notFinite}. The
// arrays are copied: they may be changed or given away at once.
Napi::Value repack(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    struct Own {
      std::vector<uint8_t> original;
      std::vector<float> importance;
      RepackRows rows;
      Repacked result;
    };
    const auto own = std::make_shared<Own>();
    const Bytes original = bytes_of(info[1], "bytes");
    own->original.assign(original.data, original.data + original.size);
    own->rows = {type_named(info[0]), type_named(info[2]), own->original.data(), own->original.size(),
                 size_of(info[3], "columns")};
    if (!info[4].IsNull() && !info[4].IsUndefined()) {
      const Bytes importance = bytes_of(info[4], "importance");
      if (importance.size != own->rows.columns * sizeof(float)) reject("importance", "a float for each column");
      own->importance.resize(own->rows.columns);
      std::memcpy(own->importance.data(), importance.data, importance.size);
      own->rows.importance = own->importance.data();
    }
    const size_t threads = size_of(info[5], "threads");
    if (threads < 1 || threads > 1024) reject("threads", "1 to 1024");
    const kernels::Dispatch& table = kernels_named(info[6]);
    Engine& engine = engine_of(info);
    return engine.submit(
        info.Env(),
        [own, &table, &engine, threads](Job& job) {
          own->result = rlx::repack(table, engine.lane().pool(), threads, own->rows, job.cancel);
        },
        [own](Napi::Env env) {
          const Repacked& made = own->result;
          Napi::Object result = Napi::Object::New(env);
          result.Set("bytes", Napi::Uint8Array::New(env, made.bytes.size()));
          if (!made.bytes.empty())
            std::memcpy(result.Get("bytes").As<Napi::Uint8Array>().Data(), made.bytes.data(), made.bytes.size());
          result.Set("energy", made.sums.energy);
          result.Set("error", made.sums.error);
          result.Set("weighted", made.sums.weighted);
          result.Set("notFinite", static_cast<double>(made.sums.not_finite));
          return result;
        });
  });
}

Napi::Object distance_value(Napi::Env env, const RowDistance& distance) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("compared", distance.compared);
  result.Set("error", distance.error);
  result.Set("energy", distance.energy);
  result.Set("product", distance.product);
  result.Set("own", distance.own);
  result.Set("worstRow", distance.worst_row);
  result.Set("worstError", distance.worst_error);
  result.Set("worstEnergy", distance.worst_energy);
  result.Set("farthest", distance.farthest);
  result.Set("farthestAt", distance.farthest_at);
  return result;
}

Napi::Value measured_value(Napi::Env env, const MeasuredRows& made, bool compares) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("count", made.count);
  result.Set("zeros", made.zeros);
  result.Set("nans", made.nans);
  result.Set("infinities", made.infinities);
  result.Set("min", made.min);
  result.Set("max", made.max);
  result.Set("mean", made.mean);
  result.Set("spread", made.spread);
  result.Set("firstNotFinite", made.first_not_finite);
  result.Set("largest", made.largest);
  auto flags = Napi::Uint8Array::New(env, made.flags.size());
  if (!made.flags.empty()) std::memcpy(flags.Data(), made.flags.data(), made.flags.size());
  result.Set("flags", flags);
  auto counts = Napi::Float64Array::New(env, made.counts.size());
  if (!made.counts.empty()) std::memcpy(counts.Data(), made.counts.data(), made.counts.size() * sizeof(double));
  result.Set("counts", counts);
  result.Set("distance", compares ? Napi::Value(distance_value(env, made.distance)) : env.Null());
  return result;
}

// ({type, bytes, columns, against: {type, bytes} | null, histogram: {from, to, bars} | null}, threads,
// isa?) → the numbers of these rows. The arrays are copied.| null, histogram: {from, to, bars} | null}, threads, isa?) → the numbers of these rows.
// The arrays are copied.
Napi::Value measure(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    struct Own {
      std::vector<uint8_t> data, other;
      RowsToMeasure rows;
      MeasuredRows result;
    };
    const auto own = std::make_shared<Own>();
    const Napi::Object object = object_of(info[0], "rows");
    const Bytes data = bytes_of(object.Get("bytes"), "bytes");
    own->data.assign(data.data, data.data + data.size);
    own->rows = {type_named(object.Get("type")), own->data.data(), own->data.size(),
                 size_of(object.Get("columns"), "columns")};
    const Napi::Value against = object.Get("against");
    if (!against.IsNull() && !against.IsUndefined()) {
      const Napi::Object other = object_of(against, "against");
      const Bytes bytes = bytes_of(other.Get("bytes"), "against");
      own->other.assign(bytes.data, bytes.data + bytes.size);
      own->rows.other_type = type_named(other.Get("type"));
      own->rows.compares = true;
      own->rows.other = own->other.data();
      own->rows.other_bytes = own->other.size();
    }
    const Napi::Value histogram = object.Get("histogram");
    if (!histogram.IsNull() && !histogram.IsUndefined()) {
      const Napi::Object bars = object_of(histogram, "histogram");
      own->rows.from = number_of(bars.Get("from"), "from");
      own->rows.to = number_of(bars.Get("to"), "to");
      own->rows.bars = size_of(bars.Get("bars"), "bars");
      if (own->rows.bars < 1 || own->rows.bars > 4096) reject("bars", "1 to 4096");
    }
    const size_t threads = size_of(info[1], "threads");
    if (threads < 1 || threads > 1024) reject("threads", "1 to 1024");
    const kernels::Dispatch& table = kernels_named(info[2]);
    Engine& engine = engine_of(info);
    return engine.submit(
        info.Env(),
        [own, &table, &engine, threads](Job& job) {
          own->result = rlx::measure_rows(table, engine.lane().pool(), threads, own->rows, job.cancel);
        },
        [own](Napi::Env env) { return measured_value(env, own->result, own->rows.compares); });
  });
}

// Bytes per second that `threads` threads read from memory: the peak that a profile shows.
Napi::Value bandwidth(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&] {
    Engine& engine = engine_of(info);
    const size_t threads = size_of(info[0], "threads");
    if (threads < 1 || threads > 1024) reject("threads", "1 to 1024");
    const size_t bytes = size_of(info[1], "bytes");
    const double seconds = number_of(info[2], "seconds");
    const auto result = std::make_shared<double>(0);
    return engine.submit(
        info.Env(),
        [&engine, threads, bytes, seconds, result](Job& job) {
          *result = read_bandwidth(engine.lane().pool(), threads, bytes, seconds, job.cancel);
        },
        [result](Napi::Env env) { return Napi::Number::New(env, *result); });
  });
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  attach_engine(env);
  exports.Set("abi", kAbi);
  exports.Set("hugePages", HugePages::available());
  export_functions(env, exports,
                   {{"kernels", kernel_list},
                    {"isas", instruction_sets},
                    {"kernelNotes", notes},
                    {"counts", counts<Plan, Session>},
                    {"openWeights", open_weights},
                    {"readWeights", read_weights},
                    {"checkWeights", check_weights},
                    {"enlargePages", enlarge_pages},
                    {"largePages", large_pages},
                    {"loadPlan", load},
                    {"openSession", open_session},
                    {"run", run},
                    {"fork", fork_session},
                    {"save", save_session<Session>},
                    {"restore", restore_session<Session>},
                    {"reset", reset_session<Session>},
                    {"sessionBytes", session_bytes<Session>},
                    {"cancel", cancel},
                    {"dispose", dispose},
                    {"dequantize", dequantize},
                    {"halve", halve},
                    {"storedError", stored_error},
                    {"repack", repack},
                    {"measure", measure},
                    {"bandwidth", bandwidth}});
  return exports;
}

}  // namespace
}  // namespace rlx::binding

static Napi::Object rlx_initialise(Napi::Env env, Napi::Object exports) {
  return rlx::binding::initialise(env, exports);
}

NODE_API_MODULE(rlx, rlx_initialise)
