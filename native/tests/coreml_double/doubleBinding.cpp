// Registers the addon over the double: the bridge as it is, its numbers simulated, and the double's
// own controls for JavaScript (what computes, how it behaves, what it counts).
#include <napi.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>

#include "../../src/coreml/binding/addon.h"
#include "control.h"

namespace twin = coreml_double;

namespace {

// One question to JavaScript; the thread that predicts waits for the answer.
struct Question {
  std::mutex mutex;
  std::condition_variable ready;
  bool answered = false;
  twin::Reply reply;
  void answer(twin::Reply given) {
    std::lock_guard guard(mutex);
    reply = std::move(given);
    answered = true;
    ready.notify_all();
  }
};

struct Link {
  Napi::ThreadSafeFunction ask;
  std::atomic<bool> closed{false};
};

Napi::Value to_js(Napi::Env env, const std::vector<twin::Tensor>& tensors) {
  Napi::Array made = Napi::Array::New(env, tensors.size());
  for (uint32_t i = 0; i < tensors.size(); i++) {
    Napi::Object one = Napi::Object::New(env);
    one.Set("name", tensors[i].name);
    one.Set("type", tensors[i].type);
    Napi::Array shape = Napi::Array::New(env, tensors[i].shape.size());
    for (uint32_t k = 0; k < tensors[i].shape.size(); k++) shape.Set(k, static_cast<double>(tensors[i].shape[k]));
    one.Set("shape", shape);
    Napi::Uint8Array bytes = Napi::Uint8Array::New(env, tensors[i].bytes.size());
    if (!tensors[i].bytes.empty()) std::memcpy(bytes.Data(), tensors[i].bytes.data(), tensors[i].bytes.size());
    one.Set("bytes", bytes);
    made.Set(i, one);
  }
  return made;
}

std::vector<twin::Tensor> from_js(const Napi::Value& value) {
  std::vector<twin::Tensor> made;
  if (!value.IsArray()) return made;
  const auto array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Object one = array.Get(i).As<Napi::Object>();
    twin::Tensor tensor{one.Get("name").As<Napi::String>(), one.Get("type").As<Napi::String>(), {}, {}};
    const auto shape = one.Get("shape").As<Napi::Array>();
    for (uint32_t k = 0; k < shape.Length(); k++) tensor.shape.push_back(shape.Get(k).As<Napi::Number>().Int64Value());
    const auto bytes = one.Get("bytes").As<Napi::Uint8Array>();
    tensor.bytes.assign(bytes.Data(), bytes.Data() + bytes.ByteLength());
    made.push_back(std::move(tensor));
  }
  return made;
}

// setEvaluator((request, answer) => void): `answer` takes {outputs, states} or {error}.
Napi::Value set_evaluator(const Napi::CallbackInfo& info) {
  auto link = std::make_shared<Link>();
  link->ask = Napi::ThreadSafeFunction::New(info.Env(), info[0].As<Napi::Function>(), "coreml-double", 0, 1);
  link->ask.Unref(info.Env());
  info.Env().AddCleanupHook([link] {
    link->closed = true;
    twin::set_evaluator(nullptr);
    link->ask.Abort();
  });
  twin::set_evaluator([link](const twin::Request& request) -> twin::Reply {
    auto question = std::make_shared<Question>();
    auto copy = std::make_shared<twin::Request>(request);
    link->ask.NonBlockingCall([question, copy](Napi::Env env, Napi::Function evaluate) {
      Napi::Object given = Napi::Object::New(env);
      given.Set("package", copy->package);
      given.Set("function", copy->function);
      given.Set("inputs", to_js(env, copy->inputs));
      given.Set("states", to_js(env, copy->states));
      const auto answer = Napi::Function::New(env, [question](const Napi::CallbackInfo& reply) {
        const Napi::Object object = reply[0].As<Napi::Object>();
        const Napi::Value error = object.Get("error");
        question->answer(error.IsString()
                             ? twin::Reply{{}, {}, error.As<Napi::String>().Utf8Value()}
                             : twin::Reply{from_js(object.Get("outputs")), from_js(object.Get("states")), ""});
      });
      evaluate.Call({given, answer});
    });
    std::unique_lock guard(question->mutex);
    while (!question->answered) {
      if (link->closed) return {{}, {}, "the evaluator has gone"};
      question->ready.wait_for(guard, std::chrono::milliseconds(50));
    }
    return std::move(question->reply);
  });
  return info.Env().Undefined();
}

Napi::Value configure(const Napi::CallbackInfo& info) {
  twin::configure(info[0].As<Napi::String>().Utf8Value());
  return info.Env().Undefined();
}

Napi::Value counts(const Napi::CallbackInfo& info) {
  const twin::Counts now = twin::counts();
  Napi::Object made = Napi::Object::New(info.Env());
  made.Set("objects", static_cast<double>(now.objects));
  made.Set("predictions", static_cast<double>(now.predictions));
  made.Set("handlers", static_cast<double>(now.handlers));
  made.Set("backingsUsed", now.backings_used);
  return made;
}

Napi::Value configuration(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), twin::last_configuration());
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  Napi::Object controls = Napi::Object::New(env);
  controls.Set("setEvaluator", Napi::Function::New(env, set_evaluator));
  controls.Set("configure", Napi::Function::New(env, configure));
  controls.Set("counts", Napi::Function::New(env, counts));
  controls.Set("configuration", Napi::Function::New(env, configuration));
  exports.Set("double", controls);
  return rlx::coreml::init_addon(env, exports, "simulated");
}

}  // namespace

NODE_API_MODULE(rlx_coreml, init)
