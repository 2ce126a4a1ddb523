// The bridge against the double: compile, load, predict, states, plans, every failure with its code, and ten thousand
// predictions without growth. Run under AddressSanitizer, UndefinedBehaviourSanitizer and LeakSanitizer. Long
// because it is a list of cases over one set of helpers.
#include <unistd.h>

#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "control.h"
#include "coreml/bridge.h"
#include "coreml/strided.h"
#include "testModel.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#define HAS_ALLOCATOR_COUNT 1
#endif
#endif

using namespace rlx::coreml;
namespace twin = coreml_double;
namespace files = std::filesystem;

static int failures = 0, checks = 0;
extern "C" void check(bool holds, const char* what) {
  checks++;
  if (holds) return;
  failures++;
  std::fprintf(stderr, "FAILED: %s\n", what);
}
void runtime_tests();

namespace {

void expect_code(const char* code, const char* what, const std::function<void()>& act) {
  try {
    act();
  } catch (const Failure& failure) {
    if (std::strcmp(failure.code(), code) != 0) std::fprintf(stderr, "  got %s: %s\n", failure.code(), failure.what());
    return check(std::strcmp(failure.code(), code) == 0, what);
  }
  check(false, what);
}

files::path root;

twin::Feature feature(const char* name, const char* type, twin::Shape shape) {
  twin::Feature made;
  made.name = name;
  made.type = type;
  made.shape = std::move(shape);
  return made;
}

Tensor floats(const char* name, Shape shape, const std::vector<float>& values) {
  auto bytes = std::make_shared<std::vector<uint8_t>>(values.size() * 4);
  std::memcpy(bytes->data(), values.data(), bytes->size());
  return {name, DType::f32, std::move(shape), bytes};
}
std::vector<float> values_of(const Tensor& tensor) {
  std::vector<float> made(tensor.bytes->size() / 4);
  std::memcpy(made.data(), tensor.bytes->data(), tensor.bytes->size());
  return made;
}
std::vector<float> ramp(size_t count) {
  std::vector<float> made(count);
  for (size_t i = 0; i < count; i++) made[i] = static_cast<float>(i % 61) - 30;
  return made;
}

// ------------------------------------------------------------- what the models compute
// y = 2x for every input x → y pair of the same type; `total` becomes total + sum(x) in a state that is read back as `sum`.

float element(const twin::Tensor& tensor, size_t i) {
  if (tensor.type == "fp16") return half_to_float(reinterpret_cast<const uint16_t*>(tensor.bytes.data())[i]);
  if (tensor.type == "fp32") return reinterpret_cast<const float*>(tensor.bytes.data())[i];
  if (tensor.type == "fp64") return static_cast<float>(reinterpret_cast<const double*>(tensor.bytes.data())[i]);
  if (tensor.type == "int8") return static_cast<float>(reinterpret_cast<const int8_t*>(tensor.bytes.data())[i]);
  return static_cast<float>(reinterpret_cast<const int32_t*>(tensor.bytes.data())[i]);
}
void set(twin::Tensor& tensor, size_t i, float value) {
  if (tensor.type == "fp16") reinterpret_cast<uint16_t*>(tensor.bytes.data())[i] = float_to_half(value);
  if (tensor.type == "fp32") reinterpret_cast<float*>(tensor.bytes.data())[i] = value;
  if (tensor.type == "fp64") reinterpret_cast<double*>(tensor.bytes.data())[i] = value;
  if (tensor.type == "int8") reinterpret_cast<int8_t*>(tensor.bytes.data())[i] = static_cast<int8_t>(value);
  if (tensor.type == "int32") reinterpret_cast<int32_t*>(tensor.bytes.data())[i] = static_cast<int32_t>(value);
}
size_t count_of(const twin::Tensor& tensor) {
  size_t count = 1;
  for (int64_t dim : tensor.shape) count *= static_cast<size_t>(dim);
  return count;
}

twin::Reply doubled(const twin::Request& request) {
  twin::Reply reply;
  for (const twin::Tensor& input : request.inputs) {
    twin::Tensor output = input;
    output.name = "y" + input.name.substr(1);
    for (size_t i = 0; i < count_of(input); i++) set(output, i, 2 * element(input, i));
    reply.outputs.push_back(std::move(output));
  }
  for (const twin::Tensor& held : request.states) {
    twin::Tensor next = held;
    float sum = 0;
    for (size_t i = 0; i < count_of(request.inputs[0]); i++) sum += element(request.inputs[0], i);
    for (size_t i = 0; i < count_of(held); i++) set(next, i, element(held, i) + sum);
    reply.states.push_back(std::move(next));
  }
  return reply;
}

std::string compiled(const std::string& name, const std::vector<test_model::Entry>& entries) {
  const std::string package = test_model::write_package(root / (name + ".mlpackage"), entries);
  const std::string target = (root / (name + ".mlmodelc")).string();
  compile(package, target, nullptr);
  return target;
}

test_model::Block simple_block() {
  using test_model::Operation;
  return {{"y"},
          {{"const", {"two"}, {}},
           {"constexpr_lut_to_dense", {"weight"}, {}},
           {"mul", {"y"}, {}},
           {"cond", {"z"}, {{{"a"}, {{"gather", {"a"}, {}}}}, {{"b"}, {{"while_loop", {"b"}, {{{"c"}, {{"add", {"c"}, {}}}}}}}}}}}};
}
test_model::Entry typed(const char* type, twin::Shape shape, const char* name = "main") {
  return {{name, {feature("x", type, shape)}, {feature("y", type, shape)}, {}}, simple_block()};
}

// ------------------------------------------------------------------------------- tests

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
  expect_code("ENV_IO", "a cache that cannot be written", [&] { compile(package, (root / "file/x.mlmodelc").string(), nullptr); });

  // A slow compile is left at once, and what it makes later is removed.
  twin::configure("compile-ms=400");
  auto cancel = std::make_shared<std::atomic<bool>>(false);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    *cancel = true;
  });
  const auto start = std::chrono::steady_clock::now();
  expect_code("CANCELLED", "a slow compile is cancelled", [&] { compile(package, target + "6", cancel); });
  check(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(300), "cancel is acknowledged while the compiler works");
  later.join();
  twin::wait_idle();
  check(!files::exists(target + "6"), "nothing is left of a cancelled compile");
  twin::configure("");
}

void loading() {
  const std::string model = compiled("load", {typed("fp16", {4})});
  check(Model::load(model, {}, nullptr)->interface().inputs.size() == 1, "a model loads");
  expect_code("INPUT_NOT_FOUND", "a compiled model that is not there", [&] { Model::load(model + "x", {}, nullptr); });
  expect_code("INPUT_UNREADABLE", "a folder that is no compiled model", [&] { Model::load((root / "load.mlpackage").string(), {}, nullptr); });
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
  check(values_of(memory->predict({floats("x", {4}, {1, 2, 3, 4})}, nullptr, {}).outputs[0]) == std::vector<float>{2, 4, 6, 8}, "a model in memory predicts");
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
      for (size_t i = 0; i < 600; i++) reinterpret_cast<int32_t*>(input.bytes->data())[i] = static_cast<int32_t>(values[i]);
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
      const float got = made.outputs[0].type == DType::i32   ? static_cast<float>(reinterpret_cast<const int32_t*>(at)[i])
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
  check(values_of(model->predict({floats("x", {}, ramp(600))}, nullptr, {}).outputs[0])[1] == -58, "a shape that is not given is the feature's");
  Tensor as_half = raw.outputs[0];
  as_half.name = "x";
  check(values_of(model->predict({as_half}, nullptr, {}).outputs[0])[0] == -120, "halves go in as they are");

  const auto predict = [&](const std::vector<Tensor>& inputs) { model->predict(inputs, nullptr, {}); };
  expect_code("INPUT_ARGUMENT", "an input that is not there", [&] { predict({floats("w", {3, 200}, ramp(600))}); });
  expect_code("INPUT_ARGUMENT", "an input that is missing", [&] { predict({}); });
  expect_code("INPUT_ARGUMENT", "a wrong shape", [&] { predict({floats("x", {200, 3}, ramp(600))}); });
  expect_code("INPUT_ARGUMENT", "a wrong rank", [&] { predict({floats("x", {600}, ramp(600))}); });
  expect_code("INPUT_ARGUMENT", "fewer numbers than the shape says", [&] { predict({floats("x", {3, 200}, ramp(599))}); });
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
  check(used.backings_used == 1 && values_of(used.outputs[0])[301] == 2 * ramp(64 * 300)[301], "a large output is written where we proposed");
  twin::configure("backings=0");
  const Prediction ignored = model->predict(input, nullptr, {});
  check(ignored.backings_used == 0 && values_of(ignored.outputs[0]) == values_of(used.outputs[0]), "a proposal that is ignored costs a copy only");
  twin::configure("");
  check(model->predict({floats("x", {64, 300}, ramp(64 * 300))}, nullptr, {}).outputs[0].bytes->size() == 64 * 300 * 4, "and again");
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
  model->predict_async({floats("x", {3, 200}, ramp(600))}, nullptr, {}, [&](std::unique_ptr<Prediction>, std::unique_ptr<Failure> failure) {
    std::lock_guard inner(mutex);
    code = failure ? failure->code() : "";
    done++;
    ready.notify_all();
  });
  ready.wait(guard, [&] { return done == 1; });
  check(code == "COREML_PREDICT", "an asynchronous failure has its code");
  guard.unlock();
  twin::configure("predict=throw");
  model->predict_async({floats("x", {3, 200}, ramp(600))}, nullptr, {}, [&](std::unique_ptr<Prediction>, std::unique_ptr<Failure> failure) { code = failure ? failure->code() : ""; });
  check(code == "COREML_EXCEPTION", "an exception of an asynchronous call has its code");
  twin::wait_idle();
  twin::configure("");
}

test_model::Entry stateful(const char* name = "main") {
  test_model::Entry made = typed("fp16", {1, 4}, name);
  made.interface.states = {feature("total", "fp16", {2, 3})};
  return made;
}

void states() {
  const auto model = Model::load(compiled("state", {stateful()}), {}, nullptr);
  const auto state = model->new_state();
  check(values_of(state->read("total", false)) == std::vector<float>(6, 0), "a new state is zero");
  const std::vector<Tensor> ones{floats("x", {1, 4}, {1, 1, 1, 1})};
  for (int i = 0; i < 100; i++) model->predict(ones, state, {});
  check(values_of(state->read("total", false)) == std::vector<float>(6, 400), "a decode loop of a hundred steps");
  const auto fork = state->copy();
  model->predict(ones, fork, {});
  check(values_of(fork->read("total", false))[5] == 404 && values_of(state->read("total", false))[5] == 400, "a copy goes its own way");
  state->write(floats("total", {2, 3}, {1, 2, 3, 4, 5, 6}));
  model->predict(ones, state, {});
  check(values_of(state->read("total", false)) == std::vector<float>{5, 6, 7, 8, 9, 10}, "what is written is read by the next step");
  check(state->read("total", true).bytes->size() == 12, "a state is read in halves too");
  expect_code("INPUT_ARGUMENT", "a state that is not there", [&] { state->read("nowhere", false); });
  expect_code("INPUT_ARGUMENT", "a state of another shape", [&] { state->write(floats("total", {3, 2}, ramp(6))); });
  expect_code("INPUT_ARGUMENT", "a state of another size", [&] { state->write(floats("total", {2, 3}, ramp(5))); });

  // Shared by many callers: the double ends the process when two predictions meet, or when a view is open meanwhile.
  const auto shared = model->new_state();
  twin::configure("predict-ms=2");
  std::mutex mutex;
  std::condition_variable ready;
  int done = 0;
  for (int i = 0; i < 20; i++)
    model->predict_async(ones, shared, {}, [&](std::unique_ptr<Prediction> made, std::unique_ptr<Failure>) {
      std::lock_guard guard(mutex);
      done += made ? 1 : 100;
      ready.notify_all();
    });
  std::thread other([&] {
    for (int i = 0; i < 10; i++) model->predict(ones, shared, {});
  });
  for (int i = 0; i < 10; i++) shared->read("total", false);
  other.join();
  std::unique_lock guard(mutex);
  ready.wait(guard, [&] { return done >= 20; });
  check(done == 20 && values_of(shared->read("total", false))[0] == 120, "predictions that share a state are serialised");
  guard.unlock();
  twin::wait_idle();
  twin::configure("predict=fail");
  expect_code("COREML_PREDICT", "a failing step", [&] { model->predict(ones, shared, {}); });
  twin::configure("");
  model->predict(ones, shared, {});
  check(values_of(shared->read("total", false))[0] == 124, "a state goes on after a step that failed");
}

void flexible() {
  test_model::Entry ranged = typed("fp32", {1, 4});
  ranged.interface.inputs[0].ranges = {{1, 1}, {1, 512}};
  ranged.interface.outputs[0].ranges = {{1, 1}, {1, -1}};
  const auto model = Model::load(compiled("ranged", {ranged}), {}, nullptr);
  check(model->interface().inputs[0].ranges == std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {1, 512}}, "ranges are read");
  check(model->interface().outputs[0].ranges[1].second == -1, "a range without end is read");
  const Prediction made = model->predict({floats("x", {}, ramp(77))}, nullptr, {});
  check(made.outputs[0].shape == Shape{1, 77}, "the free size follows from the number of elements, the result's from the result");
  expect_code("INPUT_ARGUMENT", "a size outside its range", [&] { model->predict({floats("x", {1, 513}, ramp(513))}, nullptr, {}); });
  test_model::Entry listed = typed("fp32", {1, 4});
  listed.interface.inputs[0].shapes = listed.interface.outputs[0].shapes = {{1, 4}, {1, 16}};
  const auto second = Model::load(compiled("listed", {listed}), {}, nullptr);
  check(second->predict({floats("x", {}, ramp(16))}, nullptr, {}).outputs[0].shape == Shape{1, 16}, "an enumerated shape is found");
  expect_code("INPUT_ARGUMENT", "a shape that is not enumerated", [&] { second->predict({floats("x", {1, 5}, ramp(5))}, nullptr, {}); });
}

void batches() {
  const auto model = Model::load((root / "typed-fp16.mlmodelc").string(), {}, nullptr);
  std::vector<std::vector<Tensor>> items;
  for (int i = 0; i < 5; i++) items.push_back({floats("x", {3, 200}, std::vector<float>(600, static_cast<float>(i)))});
  const auto made = model->predict_batch(items, {});
  bool right = made.size() == 5;
  for (size_t i = 0; i < made.size(); i++) right = right && values_of(made[i].outputs[0])[7] == 2 * static_cast<float>(i);
  check(right, "a batch answers item by item");
  twin::configure("predict=fail");
  expect_code("COREML_PREDICT", "a batch that fails", [&] { model->predict_batch(items, {}); });
  twin::configure("");
}

void functions() {
  const std::string model = compiled("multi", {typed("fp16", {1, 4}, "decode"), typed("fp16", {8, 4}, "prefill")});
  check(function_names(model, nullptr) == std::vector<std::string>{"decode", "prefill"}, "functions are listed");
  check(function_names((root / "load.mlmodelc").string(), nullptr).empty(), "a model with one function lists none");
  LoadOptions prefill;
  prefill.function = "prefill";
  check(Model::load(model, prefill, nullptr)->interface().inputs[0].shape == Shape{8, 4}, "a function is loaded by name");
  check(Model::load(model, {}, nullptr)->interface().inputs[0].shape == Shape{1, 4}, "the default function otherwise");
  expect_code("INPUT_UNREADABLE", "names of what is no model", [&] { function_names((root / "load.mlpackage").string(), nullptr); });
}

void plans() {
  const std::string model = compiled("plan", {typed("fp16", {1, 4})});
  const Plan plan = compute_plan(model, {}, nullptr);
  std::string seen;
  for (const PlannedOp& op : plan.ops) seen += op.op + ">" + op.output + "@" + std::to_string(op.depth) + (op.preferred.empty() ? "" : ":" + op.preferred) + " ";
  check(seen == "const>two@0 constexpr_lut_to_dense>weight@0 mul>y@0:ane cond>z@0:ane gather>a@1:cpu while_loop>b@1:ane add>c@2:ane ",
        ("nested blocks are walked, constants have no device: " + seen).c_str());
  double cost = 0;
  for (const PlannedOp& op : plan.ops) cost += op.cost > 0 ? op.cost : 0;
  check(plan.has_usage && std::abs(cost - 1) < 1e-9, "costs are shares of the whole");
  LoadOptions cpu;
  cpu.units = Units::cpu;
  for (const PlannedOp& op : compute_plan(model, cpu, nullptr).ops) check(op.preferred.empty() || op.preferred == "cpu", "units shape the plan");
  twin::configure("plan=fail");
  const Plan bare = compute_plan(model, {}, nullptr);
  check(!bare.has_usage && bare.ops.size() == plan.ops.size() && !bare.refusal.empty(), "without a plan the structure alone, with the reason");
  twin::configure("ane=0");
  for (const PlannedOp& op : compute_plan(model, {}, nullptr).ops) check(op.preferred != "ane", "no Neural Engine, no placement on it");
  twin::configure("os=14.0");
  expect_code("ENV_NO_DEVICE", "no plans before 14.4", [&] { compute_plan(model, {}, nullptr); });
  twin::configure("");
  expect_code("INPUT_UNREADABLE", "a plan of what is no model", [&] { compute_plan((root / "plan.mlpackage").string(), {}, nullptr); });
}

void older_systems() {
  // The double raises on every selector that the played system does not have, so a missing guard shows here.
  twin::configure("os=13.3");
  const std::string path = compiled("old", {typed("fp16", {1, 4})});
  const auto model = Model::load(path, {}, nullptr);
  const std::vector<Tensor> input{floats("x", {1, 4}, {1, 2, 3, 4})};
  check(values_of(model->predict(input, nullptr, {}).outputs[0])[3] == 8, "macOS 13.3 predicts");
  bool answered = false;
  model->predict_async(input, nullptr, {}, [&](std::unique_ptr<Prediction> made, std::unique_ptr<Failure>) { answered = made != nullptr; });
  check(answered, "macOS 13.3 answers asynchronous calls on the caller's thread");
  LoadOptions hints;
  hints.infrequent_reshape = hints.fast_prediction = true;
  check(Model::load(path, hints, nullptr) != nullptr, "hints are left out where the system has none");
  expect_code("ENV_NO_DEVICE", "no states before 15", [&] { model->new_state(); });
  expect_code("ENV_NO_DEVICE", "no asset before 15", [&] { Model::load_in_memory((root / "old.mlpackage").string(), {}, nullptr); });
  LoadOptions function;
  function.function = "decode";
  expect_code("ENV_NO_DEVICE", "no functions before 15", [&] { Model::load(path, function, nullptr); });
  check(function_names(path, nullptr).empty(), "no names before 15");
  expect_code("COREML_LOAD", "a model that needs a newer system", [&] { Model::load((root / "state.mlmodelc").string(), {}, nullptr); });
  const Machine old = machine();
  check(old.ane && old.ane_cores == 0, "before 14 the registry tells the Neural Engine");
  for (const char* version : {"14.0", "14.4"}) {
    twin::configure(std::string("os=") + version);
    check(Model::load(path, hints, nullptr)->predict(input, nullptr, {}).outputs.size() == 1, "the systems between");
  }
  twin::configure("");
}

void machines() {
  twin::configure("thermal=2 low-power=1");
  const Machine here = machine();
  check(here.chip == "Apple M3 Pro" && here.model == "Mac15,6" && here.performance_cores == 6 && here.efficiency_cores == 6, "chip and cores");
  check(here.ane && here.ane_cores == 16 && here.gpu == "Apple M3 Pro" && here.unified_memory, "Neural Engine and GPU");
  check(here.thermal == "serious" && here.low_power && !here.rosetta && here.os == "15.5.0" && here.memory_bytes == 24ull << 30, "state of the machine");
  twin::configure("ane=0");
  check(!machine().ane, "a machine without a Neural Engine");
  twin::configure("");
}

void no_growth() {
  const auto model = Model::load((root / "state.mlmodelc").string(), {}, nullptr);
  const auto state = model->new_state();
  const std::vector<Tensor> zeros{floats("x", {1, 4}, {0, 0, 0, 0})};
  const auto round = [&] {
    model->predict(zeros, state, {});
    model->predict(zeros, nullptr, {});
  };
  for (int i = 0; i < 50; i++) round();
  const long objects = twin::counts().objects;
#ifdef HAS_ALLOCATOR_COUNT
  const size_t bytes = __sanitizer_get_current_allocated_bytes();
#endif
  for (int i = 0; i < 5000; i++) round();
  check(twin::counts().objects == objects, "ten thousand predictions leave no object behind");
#ifdef HAS_ALLOCATOR_COUNT
  check(__sanitizer_get_current_allocated_bytes() <= bytes + 4096, "ten thousand predictions leave no memory behind");
#endif
  // Failures must not leave anything either.
  twin::configure("predict=throw");
  for (int i = 0; i < 200; i++) expect_code("COREML_EXCEPTION", "an exception", round);
  twin::configure("predict=fail");
  for (int i = 0; i < 200; i++) expect_code("COREML_PREDICT", "an error", round);
  twin::configure("");
  check(twin::counts().objects == objects, "failures leave no object behind");
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
  states();
  flexible();
  batches();
  functions();
  plans();
  older_systems();
  machines();
  no_growth();
  twin::wait_idle();
  twin::set_evaluator(nullptr);
  files::remove_all(root);
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures == 0 ? 0 : 1;
}
