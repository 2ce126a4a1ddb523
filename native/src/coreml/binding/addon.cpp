// The bridge as a Node addon. Values are checked here, work happens on other threads, errors carry
// their codes. The whole face in types: main/node/devices/coreml/native.ts.
#include <napi.h>

#include <cmath>
#include <cstring>
#include <map>

#include "addon.h"
#include "host.h"

namespace rlx::coreml {
namespace {

constexpr int kAbi = 4;

struct Instance {
  std::shared_ptr<Host> host;
};
Host& host_of(const Napi::CallbackInfo& info) { return *info.Env().GetInstanceData<Instance>()->host; }

template <class Body>
Napi::Value checked(const Napi::CallbackInfo& info, Body&& body) {
  try {
    return body();
  } catch (const Failure& failure) {
    throw Napi::Error(info.Env(), to_error(info.Env(), failure));
  }
}

// ------------------------------------------------------------------- JavaScript to C++

[[noreturn]] void reject(const std::string& label, const std::string& expected) {
  throw Failure("INPUT_ARGUMENT", "[coreml] " + label + ": expected " + expected);
}

std::string text_of(const Napi::Value& value, const char* label) {
  if (!value.IsString()) reject(label, "a string");
  return value.As<Napi::String>().Utf8Value();
}
double number_of(const Napi::Value& value, const char* label) {
  if (!value.IsNumber()) reject(label, "a number");
  return value.As<Napi::Number>().DoubleValue();
}
Napi::Object object_of(const Napi::Value& value, const char* label) {
  if (!value.IsObject()) reject(label, "an object");
  return value.As<Napi::Object>();
}
bool flag_of(const Napi::Value& value) { return value.IsBoolean() && value.As<Napi::Boolean>().Value(); }

LoadOptions options_of(const Napi::Value& value) {
  const Napi::Object object = object_of(value, "options");
  static const std::map<std::string, Units> units{
      {"cpu", Units::cpu}, {"cpu-gpu", Units::cpu_gpu}, {"all", Units::all}, {"cpu-ane", Units::cpu_ane}};
  LoadOptions made;
  const auto found = units.find(text_of(object.Get("units"), "units"));
  if (found == units.end()) reject("units", "cpu, cpu-gpu, all or cpu-ane");
  made.units = found->second;
  if (!object.Get("function").IsUndefined()) made.function = text_of(object.Get("function"), "function");
  if (!object.Get("title").IsUndefined()) made.title = text_of(object.Get("title"), "title");
  made.infrequent_reshape = flag_of(object.Get("infrequentReshape"));
  made.fast_prediction = flag_of(object.Get("fastPrediction"));
  return made;
}

// A copy: JavaScript may change or move its memory while a prediction runs.
Tensor tensor_of(const Napi::Value& value) {
  const Napi::Object object = object_of(value, "tensor");
  Tensor made;
  made.name = text_of(object.Get("name"), "name");
  const Napi::Value data = object.Get("data");
  if (!data.IsTypedArray()) reject(made.name, "a typed array");
  const auto array = data.As<Napi::TypedArray>();
  switch (array.TypedArrayType()) {
    case napi_float32_array: made.type = DType::f32; break;
    case napi_uint16_array: made.type = DType::f16; break;
    case napi_int32_array: made.type = DType::i32; break;
    case napi_int8_array: made.type = DType::i8; break;
    default: reject(made.name, "Float32Array, Uint16Array (halves), Int32Array or Int8Array");
  }
  const Napi::Value shape = object.Get("shape");
  if (shape.IsArray()) {
    const auto dims = shape.As<Napi::Array>();
    for (uint32_t i = 0; i < dims.Length(); i++) {
      const double dim = number_of(dims.Get(i), "shape");
      if (!(dim >= 0 && dim <= 1e12) || dim != std::floor(dim)) reject(made.name, "whole numbers in its shape");
      made.shape.push_back(static_cast<int64_t>(dim));
    }
  }
  const auto* from = static_cast<const uint8_t*>(array.ArrayBuffer().Data());
  made.bytes = std::make_shared<std::vector<uint8_t>>(array.ByteLength());
  if (array.ByteLength() > 0) std::memcpy(made.bytes->data(), from + array.ByteOffset(), array.ByteLength());
  return made;
}
std::vector<Tensor> tensors_of(const Napi::Value& value) {
  if (!value.IsArray()) reject("inputs", "an array");
  std::vector<Tensor> made;
  const auto array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) made.push_back(tensor_of(array.Get(i)));
  return made;
}

// ------------------------------------------------------------------- C++ to JavaScript

Napi::Value numbers(Napi::Env env, const Shape& shape) {
  Napi::Array made = Napi::Array::New(env, shape.size());
  for (uint32_t i = 0; i < shape.size(); i++) made.Set(i, static_cast<double>(shape[i]));
  return made;
}
Napi::Value texts(Napi::Env env, const std::vector<std::string>& list) {
  Napi::Array made = Napi::Array::New(env, list.size());
  for (uint32_t i = 0; i < list.size(); i++) made.Set(i, list[i]);
  return made;
}
Napi::Value to_js(Napi::Env env, const Tensor& tensor) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("name", tensor.name);
  made.Set("type", dtype_name(tensor.type));
  made.Set("shape", numbers(env, tensor.shape));
  const size_t size = tensor.bytes->size();
  Napi::ArrayBuffer memory = Napi::ArrayBuffer::New(env, size);
  if (size > 0) std::memcpy(memory.Data(), tensor.bytes->data(), size);
  switch (tensor.type) {
    case DType::f16: made.Set("data", Napi::Uint16Array::New(env, size / 2, memory, 0)); break;
    case DType::i32: made.Set("data", Napi::Int32Array::New(env, size / 4, memory, 0)); break;
    case DType::i8: made.Set("data", Napi::Int8Array::New(env, size, memory, 0)); break;
    default: made.Set("data", Napi::Float32Array::New(env, size / 4, memory, 0)); break;
  }
  return made;
}
Napi::Value to_js(Napi::Env env, const Prediction& prediction) {
  Napi::Object made = Napi::Object::New(env);
  Napi::Array outputs = Napi::Array::New(env, prediction.outputs.size());
  for (uint32_t i = 0; i < prediction.outputs.size(); i++) outputs.Set(i, to_js(env, prediction.outputs[i]));
  made.Set("outputs", outputs);
  made.Set("seconds", prediction.seconds);
  made.Set("systemSeconds", prediction.system_seconds);
  made.Set("backingsUsed", prediction.backings_used);
  return made;
}
Napi::Value to_js(Napi::Env env, const std::vector<Feature>& features) {
  Napi::Array made = Napi::Array::New(env, features.size());
  for (uint32_t i = 0; i < features.size(); i++) {
    const Feature& feature = features[i];
    Napi::Object one = Napi::Object::New(env);
    one.Set("name", feature.name);
    one.Set("type", dtype_name(feature.type));
    one.Set("shape", numbers(env, feature.shape));
    one.Set("optional", feature.optional);
    Napi::Array shapes = Napi::Array::New(env, feature.shapes.size());
    for (uint32_t k = 0; k < feature.shapes.size(); k++) shapes.Set(k, numbers(env, feature.shapes[k]));
    one.Set("shapes", shapes);
    Napi::Array ranges = Napi::Array::New(env, feature.ranges.size());
    for (uint32_t k = 0; k < feature.ranges.size(); k++)
      ranges.Set(k, numbers(env, {feature.ranges[k].first, feature.ranges[k].second}));
    one.Set("ranges", ranges);
    made.Set(i, one);
  }
  return made;
}

// ------------------------------------------------------------------------------- calls

Napi::Value get_machine(const Napi::CallbackInfo& info) {
  return checked(info, [&] {
    const Machine one = machine();
    Napi::Object made = Napi::Object::New(info.Env());
    made.Set("model", one.model);
    made.Set("chip", one.chip);
    made.Set("os", one.os);
    made.Set("osMajor", one.os_major);
    made.Set("osMinor", one.os_minor);
    made.Set("osBuild", one.os_build);
    made.Set("gpu", one.gpu);
    made.Set("performanceCores", one.performance_cores);
    made.Set("efficiencyCores", one.efficiency_cores);
    made.Set("memoryBytes", static_cast<double>(one.memory_bytes));
    made.Set("gpuBytes", static_cast<double>(one.gpu_bytes));
    made.Set("processBytes", static_cast<double>(one.process_bytes));
    made.Set("unifiedMemory", one.unified_memory);
    made.Set("ane", one.ane);
    made.Set("aneCores", one.ane_cores);
    made.Set("rosetta", one.rosetta);
    made.Set("thermal", one.thermal);
    made.Set("lowPower", one.low_power);
    return made;
  });
}

Napi::Value start_compile(const Napi::CallbackInfo& info) {
  return checked(info, [&] {
    const std::string package = text_of(info[0], "package"), target = text_of(info[1], "target");
    Host& host = host_of(info);
    return host.start(info.Env(), [&](const std::shared_ptr<Host::Job>& job) {
      host.run(job, [package, target](Host::Job& own) {
        const Compiled made = compile(package, target, own.cancel);
        own.finish = [made](Napi::Env env) {
          Napi::Object result = Napi::Object::New(env);
          result.Set("cached", made.cached);
          result.Set("seconds", made.seconds);
          return result;
        };
      });
    });
  });
}

Napi::Value start_functions(const Napi::CallbackInfo& info) {
  return checked(info, [&] {
    const std::string compiled = text_of(info[0], "model");
    Host& host = host_of(info);
    return host.start(info.Env(), [&](const std::shared_ptr<Host::Job>& job) {
      host.run(job, [compiled](Host::Job& own) {
        const auto names = function_names(compiled, own.cancel);
        own.finish = [names](Napi::Env env) { return texts(env, names); };
      });
    });
  });
}

Napi::Value start_load(const Napi::CallbackInfo& info) {
  return checked(info, [&] {
    const std::string path = text_of(info[0], "model");
    const LoadOptions options = options_of(info[1]);
    const bool in_memory = flag_of(object_of(info[1], "options").Get("inMemory"));
    Host& host = host_of(info);
    return host.start(info.Env(), [&](const std::shared_ptr<Host::Job>& job) {
      host.run(job, [path, options, in_memory, self = host.shared_from_this()](Host::Job& own) {
        auto model =
            in_memory ? Model::load_in_memory(path, options, own.cancel) : Model::load(path, options, own.cancel);
        own.finish = [model, self](Napi::Env env) -> Napi::Value {
          Napi::Object made = Napi::Object::New(env);
          made.Set("inputs", to_js(env, model->interface().inputs));
          made.Set("outputs", to_js(env, model->interface().outputs));
          made.Set("states", to_js(env, model->interface().states));
          made.Set("loadSeconds", model->load_seconds());
          made.Set("id", self->add(HeldModel{model, std::make_shared<Worker>()}));
          return made;
        };
      });
    });
  });
}

// predict(model, state or null, inputs, {keepHalf, blocking})
Napi::Value start_predict(const Napi::CallbackInfo& info) {
  return checked(info, [&] {
    Host& host = host_of(info);
    const HeldModel held = host.model(number_of(info[0], "model"));
    const std::shared_ptr<State> state = info[1].IsNumber() ? host.state(number_of(info[1], "state")).state : nullptr;
    auto inputs = std::make_shared<std::vector<Tensor>>(tensors_of(info[2]));
    const Napi::Object given = object_of(info[3], "options");
    PredictOptions options;
    options.keep_half = flag_of(given.Get("keepHalf"));
    const bool blocking = flag_of(given.Get("blocking"));
    return host.start(info.Env(), [&](const std::shared_ptr<Host::Job>& job) {
      options.cancel = job->cancel;
      if (blocking)
        return host.run(
            job,
            [held, state, inputs, options](Host::Job& own) {
              auto made = std::make_shared<Prediction>(held.model->predict(*inputs, state, options));
              own.finish = [made](Napi::Env env) { return to_js(env, *made); };
            },
            held.worker);
      auto self = host.shared_from_this();
      held.worker->push([self, held, state, inputs, options, job] {
        held.model->predict_async(
            std::move(*inputs), state, options,
            [self, job](std::unique_ptr<Prediction> prediction, std::unique_ptr<Failure> failure) {
              job->failure = std::move(failure);
              std::shared_ptr<Prediction> made = std::move(prediction);
              job->finish = [made](Napi::Env env) { return to_js(env, *made); };
              self->settle(job);
            });
      });
    });
  });
}

Napi::Value start_batch(const Napi::CallbackInfo& info) {
  return checked(info, [&] {
    Host& host = host_of(info);
    const HeldModel held = host.model(number_of(info[0], "model"));
    if (!info[1].IsArray()) reject("items", "an array");
    const auto list = info[1].As<Napi::Array>();
    std::vector<std::vector<Tensor>> items;
    for (uint32_t i = 0; i < list.Length(); i++) items.push_back(tensors_of(list.Get(i)));
    return host.start(info.Env(), [&](const std::shared_ptr<Host::Job>& job) {
      host.run(
          job,
          [held, items](Host::Job& own) {
            PredictOptions options;
            options.cancel = own.cancel;
            auto made = std::make_shared<std::vector<Prediction>>(held.model->predict_batch(items, options));
            own.finish = [made](Napi::Env env) -> Napi::Value {
              Napi::Array result = Napi::Array::New(env, made->size());
              for (uint32_t i = 0; i < made->size(); i++) result.Set(i, to_js(env, (*made)[i]));
              return result;
            };
          },
          held.worker);
    });
  });
}

Napi::Value new_state(const Napi::CallbackInfo& info) {
  return checked(info, [&] {
    Host& host = host_of(info);
    const HeldModel& held = host.model(number_of(info[0], "model"));
    return Napi::Number::New(info.Env(), host.add(HeldState{held.model->new_state(), held.worker}));
  });
}

// Work on a state, in order with the predictions of its model.
template <class Act>
Napi::Value on_state(const Napi::CallbackInfo& info, Act&& act) {
  return checked(info, [&] {
    Host& host = host_of(info);
    const HeldState held = host.state(number_of(info[0], "state"));
    return host.start(info.Env(), [&](const std::shared_ptr<Host::Job>& job) {
      host.run(job, [held, act, self = host.shared_from_this()](Host::Job& own) { act(held, own, self); }, held.worker);
    });
  });
}

Napi::Value start_read_state(const Napi::CallbackInfo& info) {
  return checked(info, [&] {
    const std::string name = text_of(info[1], "name");
    const bool keep_half = flag_of(info[2]);
    return on_state(info, [name, keep_half](const HeldState& held, Host::Job& own, const std::shared_ptr<Host>&) {
      auto tensor = std::make_shared<Tensor>(held.state->read(name, keep_half));
      own.finish = [tensor](Napi::Env env) { return to_js(env, *tensor); };
    });
  });
}
Napi::Value start_write_state(const Napi::CallbackInfo& info) {
  return checked(info, [&] {
    const Tensor tensor = tensor_of(info[1]);
    return on_state(info, [tensor](const HeldState& held, Host::Job& own, const std::shared_ptr<Host>&) {
      held.state->write(tensor);
      own.finish = [](Napi::Env env) { return env.Undefined(); };
    });
  });
}
Napi::Value start_copy_state(const Napi::CallbackInfo& info) {
  return on_state(info, [](const HeldState& held, Host::Job& own, const std::shared_ptr<Host>& self) {
    auto made = held.state->copy();
    own.finish = [made, worker = held.worker, self](Napi::Env env) -> Napi::Value {
      return Napi::Number::New(env, self->add(HeldState{made, worker}));
    };
  });
}

Napi::Value start_plan(const Napi::CallbackInfo& info) {
  return checked(info, [&] {
    const std::string compiled = text_of(info[0], "model");
    const LoadOptions options = options_of(info[1]);
    Host& host = host_of(info);
    return host.start(info.Env(), [&](const std::shared_ptr<Host::Job>& job) {
      host.run(job, [compiled, options](Host::Job& own) {
        auto plan = std::make_shared<Plan>(compute_plan(compiled, options, own.cancel));
        own.finish = [plan](Napi::Env env) -> Napi::Value {
          Napi::Object made = Napi::Object::New(env);
          made.Set("hasUsage", plan->has_usage);
          made.Set("refusal", plan->refusal);
          Napi::Array ops = Napi::Array::New(env, plan->ops.size());
          for (uint32_t i = 0; i < plan->ops.size(); i++) {
            const PlannedOp& op = plan->ops[i];
            Napi::Object one = Napi::Object::New(env);
            one.Set("function", op.function);
            one.Set("op", op.op);
            one.Set("output", op.output);
            one.Set("preferred", op.preferred);
            one.Set("supported", texts(env, op.supported));
            one.Set("cost", op.cost);
            one.Set("depth", op.depth);
            ops.Set(i, one);
          }
          made.Set("ops", ops);
          return made;
        };
      });
    });
  });
}

Napi::Value cancel(const Napi::CallbackInfo& info) {
  return checked(info, [&] { return Napi::Boolean::New(info.Env(), host_of(info).cancel(number_of(info[0], "job"))); });
}
Napi::Value dispose(const Napi::CallbackInfo& info) {
  return checked(info,
                 [&] { return Napi::Boolean::New(info.Env(), host_of(info).dispose(number_of(info[0], "handle"))); });
}
Napi::Value get_counts(const Napi::CallbackInfo& info) {
  Napi::Object made = Napi::Object::New(info.Env());
  made.Set("handles", static_cast<double>(host_of(info).handles()));
  made.Set("jobs", static_cast<double>(host_of(info).jobs()));
  return made;
}

}  // namespace

Napi::Object init_addon(Napi::Env env, Napi::Object exports, const char* truth) {
  auto* instance = new Instance{std::make_shared<Host>(env)};
  env.SetInstanceData(instance);
  env.AddCleanupHook([host = instance->host] { host->close(); });
  exports.Set("abi", kAbi);
  exports.Set("truth", truth);
  const auto set = [&](const char* name, Napi::Value (*call)(const Napi::CallbackInfo&)) {
    exports.Set(name, Napi::Function::New(env, call, name));
  };
  set("machine", get_machine);
  set("compile", start_compile);
  set("functionNames", start_functions);
  set("load", start_load);
  set("predict", start_predict);
  set("predictBatch", start_batch);
  set("newState", new_state);
  set("readState", start_read_state);
  set("writeState", start_write_state);
  set("copyState", start_copy_state);
  set("plan", start_plan);
  set("cancel", cancel);
  set("dispose", dispose);
  set("counts", get_counts);
  return exports;
}

}  // namespace rlx::coreml
