// Compiles, loads and first runs a model in a process of its own, because Apple's code can end a
// process: the parent survives and reads here how far it got. One JSON object per line on standard
// output, the last one is the result.
//   rlx-coreml-trial PACKAGE COMPILED UNITS FUNCTION [--infrequent-reshape] [--fast-prediction]
//   UNITS: cpu, cpu-gpu, all, cpu-ane;  FUNCTION may be empty
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "coreml/bridge.h"

using namespace rlx::coreml;

namespace {

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      made += '\\';
      made += c;
    } else if (static_cast<unsigned char>(c) < 32) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      made += code;
    } else
      made += c;
  }
  return made + "\"";
}

int channel = -1;

void say(const std::string& line) {
  const std::string whole = line + "\n";
  for (size_t done = 0; done < whole.size();) {
    const ssize_t written = write(channel, whole.data() + done, whole.size() - done);
    if (written <= 0) _exit(3);
    done += static_cast<size_t>(written);
  }
}
void stage(const char* name) { say(std::string("{\"stage\":\"") + name + "\"}"); }

Units units_of(const std::string& name) {
  static const std::map<std::string, Units> known{
      {"cpu", Units::cpu}, {"cpu-gpu", Units::cpu_gpu}, {"all", Units::all}, {"cpu-ane", Units::cpu_ane}};
  const auto found = known.find(name);
  if (found == known.end())
    throw Failure("INPUT_ARGUMENT", "[trial] units: got " + name + ", expected cpu, cpu-gpu, all or cpu-ane");
  return found->second;
}

Tensor zeros(const Feature& feature) {
  auto bytes = std::make_shared<std::vector<uint8_t>>();
  size_t count = 1;
  for (int64_t dim : feature.shape) count *= static_cast<size_t>(dim);
  bytes->resize(count * byte_width(feature.type));
  return {feature.name, feature.type, feature.shape, bytes};
}

void attempt(int count, char** arguments) {
  if (count < 5) throw Failure("INPUT_ARGUMENT", "[trial] PACKAGE COMPILED UNITS FUNCTION are needed");
  const std::string package = arguments[1], compiled = arguments[2];
  LoadOptions options;
  options.units = units_of(arguments[3]);
  options.function = arguments[4];
  for (int i = 5; i < count; i++) {
    if (std::strcmp(arguments[i], "--infrequent-reshape") == 0) options.infrequent_reshape = true;
    if (std::strcmp(arguments[i], "--fast-prediction") == 0) options.fast_prediction = true;
  }
  stage("compile");
  const Compiled made = compile(package, compiled, nullptr);
  stage("load");
  const auto model = Model::load(compiled, options, nullptr);
  stage("first prediction");
  std::vector<Tensor> inputs;
  for (const Feature& feature : model->interface().inputs)
    if (feature.type != DType::none) inputs.push_back(zeros(feature));
  const auto state = model->interface().states.empty() ? nullptr : model->new_state();
  const Prediction first = model->predict(inputs, state, {});
  stage("warm-up");
  const Prediction second = model->predict(inputs, state, {});
  char numbers[256];
  std::snprintf(numbers, sizeof numbers,
                "{\"result\":\"ok\",\"cached\":%s,\"compileSeconds\":%.6f,\"loadSeconds\":%.6f,\"firstSeconds\":%.6f,"
                "\"secondSeconds\":%.6f}",
                made.cached ? "true" : "false", made.seconds, model->load_seconds(), first.seconds, second.seconds);
  say(numbers);
}

}  // namespace

int main(int count, char** arguments) {
  // Whatever the system prints goes to standard error; only our lines use the channel.
  channel = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  try {
    attempt(count, arguments);
    return 0;
  } catch (const Failure& failure) {
    say("{\"result\":\"failed\",\"code\":" + quoted(failure.code()) + ",\"message\":" + quoted(failure.what()) +
        ",\"domain\":" + quoted(failure.domain()) + ",\"number\":" + std::to_string(failure.number()) + "}");
    return 1;
  } catch (const std::exception& error) {
    say("{\"result\":\"failed\",\"code\":\"BUG_UNEXPECTED\",\"message\":" + quoted(error.what()) + "}");
    return 1;
  }
}
