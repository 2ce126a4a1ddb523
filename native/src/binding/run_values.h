// Converts requests and results of runs (core/session.h) from and to JavaScript.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "convert.h"
#include "../core/session.h"

namespace rlx::binding {

inline std::vector<int32_t> integers_of(const Napi::Value& value, const char* name) {
  const Bytes bytes = bytes_of(value, name);
  std::vector<int32_t> result(bytes.size / sizeof(int32_t));
  if (!result.empty()) std::memcpy(result.data(), bytes.data, result.size() * sizeof(int32_t));
  return result;
}

inline std::optional<SampleRequest> sample_request(const Napi::Value& value) {
  if (value.IsUndefined()) return std::nullopt;
  const Napi::Object object = object_of(value, "sample");
  const auto number = [&](const char* name) { return number_of(object.Get(name), name); };
  SampleRequest request;
  request.temperature = number("temperature");
  request.top_k = size_of(object.Get("topK"), "topK");
  request.top_p = number("topP");
  request.min_p = number("minP");
  request.repeat_penalty = number("repeatPenalty");
  if (!(request.repeat_penalty > 0)) reject("repeatPenalty", "a number above 0");
  const auto optional_number = [&](const char* name, double& value) {
    if (const Napi::Value given = object.Get(name); !given.IsUndefined()) value = number_of(given, name);
  };
  optional_number("frequencyPenalty", request.frequency_penalty);
  optional_number("presencePenalty", request.presence_penalty);
  if (const Napi::Value given = object.Get("logitBias"); !given.IsUndefined()) {
    if (!given.IsArray()) reject("logitBias", "a list of ids with their biases");
    const Napi::Array list = given.As<Napi::Array>();
    for (uint32_t i = 0; i < list.Length(); i++) {
      const Napi::Object entry = object_of(list.Get(i), "logitBias");
      const size_t id = size_of(entry.Get("id"), "logitBias");
      const double bias = number_of(entry.Get("bias"), "logitBias");
      if (id > INT32_MAX || std::isnan(bias)) reject("logitBias", "ids of tokens and numbers");
      request.biases.emplace_back(static_cast<int32_t>(id), static_cast<float>(bias));
    }
  }
  request.seed = static_cast<uint32_t>(size_of(object.Get("seed"), "seed"));
  request.step = size_of(object.Get("step"), "step");
  request.alternatives = std::min<size_t>(size_of(object.Get("alternatives"), "alternatives"), 1000);
  request.recent = integers_of(object.Get("recent"), "recent");
  if (const Napi::Value window = object.Get("window"); !window.IsUndefined())
    request.window = size_of(window, "window");
  return request;
}

inline std::optional<Series> series_request(const Napi::Value& value) {
  if (value.IsUndefined()) return std::nullopt;
  const Napi::Object object = object_of(value, "series");
  return Series{size_of(object.Get("count"), "count"), text_of(object.Get("token"), "token"),
                text_of(object.Get("position"), "position"), integers_of(object.Get("endings"), "endings")};
}

inline std::optional<ScoreRequest> score_request(const Napi::Value& value) {
  if (value.IsUndefined()) return std::nullopt;
  return ScoreRequest{integers_of(value, "score")};
}

inline RunRequest run_request(const Napi::Object& object) {
  RunRequest request;
  request.symbols = sizes_of(object.Get("symbols"), "symbols");
  const Napi::Object inputs = object_of(object.Get("inputs"), "inputs");
  const Napi::Array names = inputs.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); i++) {
    const std::string name = text_of(names.Get(i), "inputs");
    const Bytes bytes = bytes_of(inputs.Get(name), name.c_str());
    request.inputs.emplace_back(name, std::vector<uint8_t>(bytes.data, bytes.data + bytes.size));
  }
  if (const Napi::Value follow = object.Get("follow"); !follow.IsUndefined())
    request.follow = text_of(follow, "follow");
  request.fetch = texts_of(object.Get("fetch"), "fetch");
  request.sample = sample_request(object.Get("sample"));
  request.series = series_request(object.Get("series"));
  request.score = score_request(object.Get("score"));
  if (request.sample || request.score) request.logits = text_of(object.Get("logits"), "logits");
  request.profile = object.Get("profile").ToBoolean();
  return request;
}

inline Napi::Object probability(Napi::Env env, const TokenProbability& token) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("id", static_cast<double>(token.id));
  result.Set("logprob", static_cast<double>(token.logprob));
  return result;
}

inline Napi::Object sampled_token(Napi::Env env, const Sampled& sampled) {
  Napi::Object result = probability(env, sampled.token);
  Napi::Array top = Napi::Array::New(env);
  for (const TokenProbability& token : sampled.top) top.Set(top.Length(), probability(env, token));
  result.Set("top", top);
  return result;
}

inline Napi::Value run_result(Napi::Env env, const RunResult& result) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("seconds", result.seconds);
  if (result.together > 0) object.Set("together", static_cast<double>(result.together));
  Napi::Object outputs = Napi::Object::New(env);
  for (const Fetched& fetched : result.outputs) {
    Napi::Object output = Napi::Object::New(env);
    output.Set("dtype", dtype_name(fetched.dtype));
    Napi::Array shape = Napi::Array::New(env);
    for (const size_t size : fetched.shape) shape.Set(shape.Length(), static_cast<double>(size));
    output.Set("shape", shape);
    output.Set("bytes", copy_bytes(env, fetched.bytes.data(), fetched.bytes.size()));
    outputs.Set(fetched.name, output);
  }
  object.Set("outputs", outputs);
  if (result.sampled) object.Set("sampled", sampled_token(env, *result.sampled));
  if (!result.series.empty()) {
    Napi::Array series = Napi::Array::New(env, result.series.size());
    for (uint32_t i = 0; i < series.Length(); i++) series.Set(i, sampled_token(env, result.series[i]));
    object.Set("series", series);
  }
  if (result.scored) {
    Napi::Object scored = Napi::Object::New(env);
    Napi::Float32Array logprobs = Napi::Float32Array::New(env, result.scored->logprobs.size());
    std::copy(result.scored->logprobs.begin(), result.scored->logprobs.end(), logprobs.Data());
    Napi::Int32Array best = Napi::Int32Array::New(env, result.scored->best.size());
    std::copy(result.scored->best.begin(), result.scored->best.end(), best.Data());
    scored.Set("logprobs", logprobs);
    scored.Set("best", best);
    object.Set("scored", scored);
  }
  if (result.profile) {
    const Profile& profile = *result.profile;
    Napi::Object columns = Napi::Object::New(env);
    Napi::Float64Array start = Napi::Float64Array::New(env, profile.start.size());
    std::copy(profile.start.begin(), profile.start.end(), start.Data());
    Napi::Float32Array seconds = Napi::Float32Array::New(env, profile.seconds.size());
    std::copy(profile.seconds.begin(), profile.seconds.end(), seconds.Data());
    Napi::Float64Array traffic = Napi::Float64Array::New(env, profile.traffic.size());
    std::copy(profile.traffic.begin(), profile.traffic.end(), traffic.Data());
    columns.Set("start", start);
    columns.Set("seconds", seconds);
    columns.Set("traffic", traffic);
    if (!profile.busy.empty()) {
      Napi::Float32Array busy = Napi::Float32Array::New(env, profile.busy.size());
      std::copy(profile.busy.begin(), profile.busy.end(), busy.Data());
      columns.Set("busy", busy);
    }
    object.Set("profile", columns);
  }
  return object;
}

}  // namespace rlx::binding
