// The bridge against the double: compile, load, predict, and every failure with its code. Run under
// AddressSanitizer, UndefinedBehaviourSanitizer and LeakSanitizer, with stateTests.cpp,
// truthTests.cpp and runtimeTests.mm.
#include <unistd.h>

#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "testKit.h"

static int failures = 0, checks = 0;
extern "C" void check(bool holds, const char* what) {
  checks++;
  if (holds) return;
  failures++;
  std::fprintf(stderr, "FAILED: %s\n", what);
}
void runtime_tests();
void state_tests();
void truth_tests();

namespace {

void conversions() {
  bool same = true;
  for (uint32_t bits = 0; bits < 65536; bits++) {
    const auto half = static_cast<uint16_t>(bits);
    _Float16 native;
    std::memcpy(&native, &half, 2);
    const float wanted = static_cast<float>(native), got = half_to_float(half);
    same = same && (std::isnan(wanted) ? std::isnan(got) : std::memcmp(&wanted, &got, 4) == 0);
    same = same && (std::isnan(wanted) || float_to_half(got) == half);
  }
  check(same, "every half converts as the compiler does it, and back");
  std::mt19937 random(1);
  for (int i = 0; i < 400000; i++) {
    const uint32_t bits = random();
    float value;
    std::memcpy(&value, &bits, 4);
    const auto native = static_cast<_Float16>(value);
    uint16_t wanted;
    std::memcpy(&wanted, &native, 2);
    same = same && (std::isnan(value) || float_to_half(value) == wanted);
  }
  check(same, "random singles round to halves as the compiler does it");
}

void strided_copies() {
  // A padded plane with junk between the rows, through every rank.
  std::mt19937 random(2);
  for (int round = 0; round < 300; round++) {
    const size_t rank = 1 + random() % 4;
    Shape shape(rank), strides(rank);
    for (auto& dim : shape) dim = 1 + static_cast<int64_t>(random() % 5);
    int64_t step = 1;
    for (size_t i = rank; i-- > 0;) {
      strides[i] = step;
      step = step * shape[i] + static_cast<int64_t>(random() % 3);
    }
    std::vector<float> memory(extent_bytes(shape, strides, DType::f32) / 4, NAN);
    const std::vector<float> wanted = ramp(static_cast<size_t>(element_count(shape)));
    copy_in(floats("x", shape, wanted), shape, memory.data(), DType::f32, strides);
    const auto bytes = copy_out(memory.data(), DType::f32, shape, strides, DType::f32);
    if (std::memcmp(bytes.data(), wanted.data(), bytes.size()) != 0) return check(false, "strided copies come back");
  }
  check(true, "strided copies come back");
}

void compiling() {
  const std::string package = test_model::write_package(root / "c.mlpackage", {typed("fp16", {2, 200})});
  const std::string target = (root / "cache/c.mlmodelc").string();

  // What the compiler prints stays out of standard output.
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  std::fflush(stdout);
  const int saved = dup(1);
  dup2(ends[1], 1);
  twin::configure("compile-ms=30");
  const Compiled first = compile(package, target, nullptr);
  if (write(1, "ours", 4) != 4) std::abort();
  dup2(saved, 1);
  close(saved);
  close(ends[1]);
  std::string seen;
  char buffer[256];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) seen.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  check(seen == "ours", "the compiler's words stay out of standard output, ours get through");
  check(!first.cached && first.seconds >= 0.03, "a compile is timed");
  check(files::exists(target + "/coremldata.bin"), "the compiled model is at its place");
  twin::configure("compile=fail");
  check(compile(package, target, nullptr).cached, "the same content is not compiled again");
  expect_code("COREML_COMPILE", "a compile that fails", [&] { compile(package, target + "2", nullptr); });
  twin::configure("compile=throw");
  expect_code("COREML_EXCEPTION", "a compile that throws", [&] { compile(package, target + "3", nullptr); });
  twin::configure("");
  expect_code("INPUT_NOT_FOUND", "a package that is not there", [&] { compile(package + "x", target + "4", nullptr); });
  const std::string broken = test_model::write_package(root / "broken.mlpackage", {typed("fp16", {1})});
  std::ofstream(root / "broken.mlpackage/Data/com.apple.CoreML/model.mlmodel") << "no model at all";
  expect_code("INPUT_UNREADABLE", "a package that is no model", [&] { compile(broken, target + "5", nullptr); });
  std::ofstream(root / "file") << "";
  expect_code("ENV_IO", "a cache that cannot be written",
              [&] { compile(package, (root / "file/x.mlmodelc").string(), nullptr); });

  // A slow compile is left at once, and what it makes later is removed.
  twin::configure("compile-ms=400");
  auto cancel = std::make_shared<std::atomic<bool>>(false);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    *cancel = true;
  });
  const auto start = std::chrono::steady_clock::now();
  expect_code("CANCELLED", "a slow compile is cancelled", [&] { compile(package, target + "6", cancel); });
  check(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(300),
        "cancel is acknowledged while the compiler works");
  later.join();
  twin::wait_idle();
  check(!files::exists(target + "6"), "nothing is left of a cancelled compile");
  twin::configure("");
}

void loading() {
  const std::string model = compiled("load", {typed("fp16", {4})});
  check(Model::load(model, {}, nullptr)->interface().inputs.size() == 1, "a model loads");
  expect_code("INPUT_NOT_FOUND", "a compiled model that is not there", [&] { Model::load(model + "x", {}, nullptr); });
  expect_code("INPUT_UNREADABLE", "a folder that is no compiled model",
              [&] { Model::load((root / "load.mlpackage").string(), {}, nullptr); });
  LoadOptions wrong;
  wrong.function = "nowhere";
  expect_code("INPUT_ARGUMENT", "a function that is not there", [&] { Model::load(model, wrong, nullptr); });
  twin::configure("load=fail");
  expect_code("COREML_LOAD", "a load that fails", [&] { Model::load(model, {}, nullptr); });
  twin::configure("load=throw");
  expect_code("COREML_EXCEPTION", "a load that throws", [&] { Model::load(model, {}, nullptr); });
  twin::configure("load-ms=300");
  auto cancel = std::make_shared<std::atomic<bool>>(false);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    *cancel = true;
  });
  expect_code("CANCELLED", "a specialisation that takes long is left", [&] { Model::load(model, {}, cancel); });
  later.join();
  twin::wait_idle();
  twin::configure("");

  const auto memory = Model::load_in_memory((root / "load.mlpackage").string(), {}, nullptr);
  check(values_of(memory->predict({floats("x", {4}, {1, 2, 3, 4})}, nullptr, {}).outputs[0]) ==
            std::vector<float>{2, 4, 6, 8},
        "a model in memory predicts");
  LoadOptions hints;
  hints.infrequent_reshape = hints.fast_prediction = true;
  hints.title = "named";
  check(Model::load(model, hints, nullptr) != nullptr, "hints are taken");
}

void predicting() {
  for (const char* type : {"fp16", "fp32", "int32", "int8", "fp64"}) {
    const std::string model = compiled(std::string("typed-") + type, {typed(type, {3, 200})});
    const auto loaded = Model::load(model, {}, nullptr);
    const std::vector<float> values = ramp(600);
    Tensor input = floats("x", {3, 200}, values);
    if (std::string(type) == "int32") {
      input.type = DType::i32;
      for (size_t i = 0; i < 600; i++)
        reinterpret_cast<int32_t*>(input.bytes->data())[i] = static_cast<int32_t>(values[i]);
    }
    if (std::string(type) == "int8") {
      input.type = DType::i8;
      input.bytes->resize(600);
      for (size_t i = 0; i < 600; i++) (*input.bytes)[i] = static_cast<uint8_t>(static_cast<int8_t>(values[i]));
    }
    const Prediction made = loaded->predict({input}, nullptr, {});
    bool right = made.outputs.size() == 1 && made.outputs[0].shape == Shape{3, 200};
    for (size_t i = 0; i < 600 && right; i++) {
      const uint8_t* at = made.outputs[0].bytes->data();
      const float got = made.outputs[0].type == DType::i32 ? static_cast<float>(reinterpret_cast<const int32_t*>(at)[i])
                        : made.outputs[0].type == DType::i8 ? static_cast<float>(reinterpret_cast<const int8_t*>(at)[i])
                                                            : reinterpret_cast<const float*>(at)[i];
      right = got == 2 * values[i];
    }
    check(right, (std::string("padded rows of ") + type + " are read by their strides").c_str());
    check(made.seconds >= made.system_seconds && made.system_seconds > 0, "a prediction is timed");
  }

  const auto model = Model::load((root / "typed-fp16.mlmodelc").string(), {}, nullptr);
  PredictOptions half;
  half.keep_half = true;
  const Prediction raw = model->predict({floats("x", {3, 200}, ramp(600))}, nullptr, half);
  check(raw.outputs[0].type == DType::f16 && raw.outputs[0].bytes->size() == 1200, "halves stay halves when asked");
  check(values_of(model->predict({floats("x", {}, ramp(600))}, nullptr, {}).outputs[0])[1] == -58,
        "a shape that is not given is the feature's");
  Tensor as_half = raw.outputs[0];
  as_half.name = "x";
  check(values_of(model->predict({as_half}, nullptr, {}).outputs[0])[0] == -120, "halves go in as they are");

  const auto predict = [&](const std::vector<Tensor>& inputs) { model->predict(inputs, nullptr, {}); };
  expect_code("INPUT_ARGUMENT", "an input that is not there", [&] { predict({floats("w", {3, 200}, ramp(600))}); });
  expect_code("INPUT_ARGUMENT", "an input that is missing", [&] { predict({}); });
  expect_code("INPUT_ARGUMENT", "a wrong shape", [&] { predict({floats("x", {200, 3}, ramp(600))}); });
  expect_code("INPUT_ARGUMENT", "a wrong rank", [&] { predict({floats("x", {600}, ramp(600))}); });
  expect_code("INPUT_ARGUMENT", "fewer numbers than the shape says",
              [&] { predict({floats("x", {3, 200}, ramp(599))}); });
  expect_code("INPUT_ARGUMENT", "integers for halves", [&] {
    Tensor input = floats("x", {3, 200}, ramp(600));
    input.type = DType::i32;
    predict({input});
  });
  const auto good = std::vector<Tensor>{floats("x", {3, 200}, ramp(600))};
  twin::configure("predict=fail");
  expect_code("COREML_PREDICT", "a prediction that fails", [&] { predict(good); });
  twin::configure("predict=throw");
  expect_code("COREML_EXCEPTION", "a prediction that throws", [&] { predict(good); });
  twin::configure("predict=cancelled");
  expect_code("CANCELLED", "a prediction that the system cancels", [&] { predict(good); });
  twin::configure("");
  twin::set_evaluator([](const twin::Request&) { return twin::Reply{{}, {}, "out of device memory"}; });
  expect_code("COREML_PREDICT", "a prediction that the device refuses", [&] { predict(good); });
  twin::set_evaluator(doubled);
  PredictOptions cancelled;
  cancelled.cancel = std::make_shared<std::atomic<bool>>(true);
  expect_code("CANCELLED", "cancel between predictions", [&] { model->predict(good, nullptr, cancelled); });
}

void backings() {
  const std::string path = compiled("large", {typed("fp32", {64, 300})});
  const auto model = Model::load(path, {}, nullptr);
  const std::vector<Tensor> input{floats("x", {64, 300}, ramp(64 * 300))};
  const Prediction used = model->predict(input, nullptr, {});
  check(used.backings_used == 1 && values_of(used.outputs[0])[301] == 2 * ramp(64 * 300)[301],
        "a large output is written where we proposed");
  twin::configure("backings=0");
  const Prediction ignored = model->predict(input, nullptr, {});
  check(ignored.backings_used == 0 && values_of(ignored.outputs[0]) == values_of(used.outputs[0]),
        "a proposal that is ignored costs a copy only");
  twin::configure("");
  check(model->predict({floats("x", {64, 300}, ramp(64 * 300))}, nullptr, {}).outputs[0].bytes->size() == 64 * 300 * 4,
        "and again");
}

void asynchronous() {
  const auto model = Model::load((root / "typed-fp32.mlmodelc").string(), {}, nullptr);
  twin::configure("predict-ms=20");
  std::mutex mutex;
  std::condition_variable ready;
  int done = 0, right = 0;
  for (int i = 0; i < 8; i++)
    model->predict_async({floats("x", {3, 200}, std::vector<float>(600, static_cast<float>(i)))}, nullptr, {},
                         [&, i](std::unique_ptr<Prediction> made, std::unique_ptr<Failure>) {
                           std::lock_guard guard(mutex);
                           right += made && values_of(made->outputs[0])[599] == 2.0f * static_cast<float>(i);
                           done++;
                           ready.notify_all();
                         });
  std::unique_lock guard(mutex);
  ready.wait(guard, [&] { return done == 8; });
  check(right == 8, "asynchronous predictions answer, each with its own numbers");
  check(twin::counts().most_at_once > 1, "they run at the same time");
  done = 0;
  twin::configure("predict=fail");
  std::string code;
  model->predict_async({floats("x", {3, 200}, ramp(600))}, nullptr, {},
                       [&](std::unique_ptr<Prediction>, std::unique_ptr<Failure> failure) {
                         std::lock_guard inner(mutex);
                         code = failure ? failure->code() : "";
                         done++;
                         ready.notify_all();
                       });
  ready.wait(guard, [&] { return done == 1; });
  check(code == "COREML_PREDICT", "an asynchronous failure has its code");
  guard.unlock();
  twin::configure("predict=throw");
  model->predict_async(
      {floats("x", {3, 200}, ramp(600))}, nullptr, {},
      [&](std::unique_ptr<Prediction>, std::unique_ptr<Failure> failure) { code = failure ? failure->code() : ""; });
  check(code == "COREML_EXCEPTION", "an exception of an asynchronous call has its code");
  twin::wait_idle();
  twin::configure("");
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 3 && std::string(arguments[1]) == "--write-package") {
    // For the test of the addon: x and y of 400 halves, and a state.
    test_model::Entry entry = typed("fp16", {2, 200});
    entry.interface.states = {feature("total", "fp16", {2, 200})};
    files::remove_all(arguments[2]);
    test_model::write_package(arguments[2], {entry});
    return 0;
  }
  runtime_tests();
  root = files::temp_directory_path() / ("rlx-coreml-tests-" + std::to_string(getpid()));
  files::create_directories(root);
  twin::configure("");
  twin::set_evaluator(doubled);
  conversions();
  strided_copies();
  compiling();
  loading();
  predicting();
  backings();
  asynchronous();
  state_tests();
  truth_tests();
  twin::wait_idle();
  twin::set_evaluator(nullptr);
  files::remove_all(root);
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures == 0 ? 0 : 1;
}
