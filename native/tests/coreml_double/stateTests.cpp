// The bridge against the double: states, flexible shapes, batches, functions, and ten thousand
// predictions without growth.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "testKit.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#define HAS_ALLOCATOR_COUNT 1
#endif
#endif

namespace {

void states() {
  const auto model = Model::load(compiled("state", {stateful()}), {}, nullptr);
  const auto state = model->new_state();
  check(values_of(state->read("total", false)) == std::vector<float>(6, 0), "a new state is zero");
  const std::vector<Tensor> ones{floats("x", {1, 4}, {1, 1, 1, 1})};
  for (int i = 0; i < 100; i++) model->predict(ones, state, {});
  check(values_of(state->read("total", false)) == std::vector<float>(6, 400), "a decode loop of a hundred steps");
  const auto fork = state->copy();
  model->predict(ones, fork, {});
  check(values_of(fork->read("total", false))[5] == 404 && values_of(state->read("total", false))[5] == 400,
        "a copy goes its own way");
  state->write(floats("total", {2, 3}, {1, 2, 3, 4, 5, 6}));
  model->predict(ones, state, {});
  check(values_of(state->read("total", false)) == std::vector<float>{5, 6, 7, 8, 9, 10},
        "what is written is read by the next step");
  check(state->read("total", true).bytes->size() == 12, "a state is read in halves too");
  expect_code("INPUT_ARGUMENT", "a state that is not there", [&] { state->read("nowhere", false); });
  expect_code("INPUT_ARGUMENT", "a state of another shape", [&] { state->write(floats("total", {3, 2}, ramp(6))); });
  expect_code("INPUT_ARGUMENT", "a state of another size", [&] { state->write(floats("total", {2, 3}, ramp(5))); });

  // Shared by many callers: the double ends the process when two predictions meet, or when a view
  // is open meanwhile.
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
  check(done == 20 && values_of(shared->read("total", false))[0] == 120,
        "predictions that share a state are serialised");
  guard.unlock();
  twin::wait_idle();

  // Far more in a row than calls fit into each other on a stack; all but the first are cancelled
  // while they wait.
  constexpr int kRow = 200000;
  twin::configure("predict-ms=50");
  PredictOptions cancelled;
  cancelled.cancel = std::make_shared<std::atomic<bool>>(true);
  int ended = 0;
  const auto count = [&](std::unique_ptr<Prediction>, std::unique_ptr<Failure>) {
    std::lock_guard lock(mutex);
    ended++;
    ready.notify_all();
  };
  model->predict_async(ones, shared, {}, count);
  for (int i = 0; i < kRow; i++) model->predict_async(ones, shared, cancelled, count);
  guard.lock();
  ready.wait(guard, [&] { return ended > kRow; });
  guard.unlock();
  twin::wait_idle();
  check(values_of(shared->read("total", false))[0] == 124, "a long row of cancelled predictions comes to its end");
  twin::configure("predict=fail");
  expect_code("COREML_PREDICT", "a failing step", [&] { model->predict(ones, shared, {}); });
  twin::configure("");
  model->predict(ones, shared, {});
  check(values_of(shared->read("total", false))[0] == 128, "a state goes on after a step that failed");
}

void flexible() {
  test_model::Entry ranged = typed("fp32", {1, 4});
  ranged.interface.inputs[0].ranges = {{1, 1}, {1, 512}};
  ranged.interface.outputs[0].ranges = {{1, 1}, {1, -1}};
  const auto model = Model::load(compiled("ranged", {ranged}), {}, nullptr);
  check(model->interface().inputs[0].ranges == std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {1, 512}},
        "ranges are read");
  check(model->interface().outputs[0].ranges[1].second == -1, "a range without end is read");
  const Prediction made = model->predict({floats("x", {}, ramp(77))}, nullptr, {});
  check(made.outputs[0].shape == Shape{1, 77},
        "the free size follows from the number of elements, the result's from the result");
  expect_code("INPUT_ARGUMENT", "a size outside its range",
              [&] { model->predict({floats("x", {1, 513}, ramp(513))}, nullptr, {}); });
  test_model::Entry listed = typed("fp32", {1, 4});
  listed.interface.inputs[0].shapes = listed.interface.outputs[0].shapes = {{1, 4}, {1, 16}};
  const auto second = Model::load(compiled("listed", {listed}), {}, nullptr);
  check(second->predict({floats("x", {}, ramp(16))}, nullptr, {}).outputs[0].shape == Shape{1, 16},
        "an enumerated shape is found");
  expect_code("INPUT_ARGUMENT", "a shape that is not enumerated",
              [&] { second->predict({floats("x", {1, 5}, ramp(5))}, nullptr, {}); });
}

void batches() {
  const auto model = Model::load((root / "typed-fp16.mlmodelc").string(), {}, nullptr);
  std::vector<std::vector<Tensor>> items;
  for (int i = 0; i < 5; i++) items.push_back({floats("x", {3, 200}, std::vector<float>(600, static_cast<float>(i)))});
  const auto made = model->predict_batch(items, {});
  bool right = made.size() == 5;
  for (size_t i = 0; i < made.size(); i++)
    right = right && values_of(made[i].outputs[0])[7] == 2 * static_cast<float>(i);
  check(right, "a batch answers item by item");
  twin::configure("predict=fail");
  expect_code("COREML_PREDICT", "a batch that fails", [&] { model->predict_batch(items, {}); });
  twin::configure("predict=throw");
  expect_code("COREML_EXCEPTION", "a batch that throws", [&] { model->predict_batch(items, {}); });
  twin::configure("");
  expect_code("INPUT_ARGUMENT", "a batch with an item that does not fit",
              [&] { model->predict_batch({items[0], {floats("x", {3, 199}, ramp(597))}}, {}); });
  PredictOptions cancelled;
  cancelled.cancel = std::make_shared<std::atomic<bool>>(true);
  const long before = twin::counts().predictions;
  expect_code("CANCELLED", "a batch that is cancelled before it starts",
              [&] { model->predict_batch(items, cancelled); });
  check(twin::counts().predictions == before, "and nothing of it was predicted");

  const auto whole = Model::load((root / "typed-int8.mlmodelc").string(), {}, nullptr);
  auto bytes = std::make_shared<std::vector<uint8_t>>(600, static_cast<uint8_t>(-7));
  const auto signed_out = whole->predict_batch({{Tensor{"x", DType::i8, {3, 200}, bytes}}}, {});
  check(
      signed_out[0].outputs[0].type == DType::i8 && static_cast<int8_t>((*signed_out[0].outputs[0].bytes)[599]) == -14,
      "a batch of int8");
}

void functions() {
  const std::string model = compiled("multi", {typed("fp16", {1, 4}, "decode"), typed("fp16", {8, 4}, "prefill")});
  check(function_names(model, nullptr) == std::vector<std::string>{"decode", "prefill"}, "functions are listed");
  check(function_names((root / "load.mlmodelc").string(), nullptr).empty(), "a model with one function lists none");
  LoadOptions prefill;
  prefill.function = "prefill";
  check(Model::load(model, prefill, nullptr)->interface().inputs[0].shape == Shape{8, 4},
        "a function is loaded by name");
  check(Model::load(model, {}, nullptr)->interface().inputs[0].shape == Shape{1, 4}, "the default function otherwise");
  expect_code("INPUT_UNREADABLE", "names of what is no model",
              [&] { function_names((root / "load.mlpackage").string(), nullptr); });
}

void no_growth() {
  const auto model = Model::load((root / "state.mlmodelc").string(), {}, nullptr);
  const auto state = model->new_state();
  const std::vector<Tensor> zeros{floats("x", {1, 4}, {0, 0, 0, 0})};
  const auto round = [&] {
    model->predict(zeros, state, {});
    model->predict(zeros, nullptr, {});
  };
  const auto other_ways = [&] {
    model->predict_batch({zeros, zeros}, {});
    std::mutex mutex;
    std::condition_variable ready;
    bool done = false;
    std::unique_lock guard(mutex);
    model->predict_async(zeros, state, {}, [&](std::unique_ptr<Prediction>, std::unique_ptr<Failure>) {
      std::lock_guard inner(mutex);
      done = true;
      ready.notify_all();
    });
    ready.wait(guard, [&] { return done; });
    state->copy()->write(state->read("total", true));
  };
  for (int i = 0; i < 50; i++) round();
  for (int i = 0; i < 20; i++) other_ways();
  twin::wait_idle();
  const long objects = twin::counts().objects;
#ifdef HAS_ALLOCATOR_COUNT
  const size_t bytes = __sanitizer_get_current_allocated_bytes();
#endif
  for (int i = 0; i < 5000; i++) round();
  check(twin::counts().objects == objects, "ten thousand predictions leave no object behind");
#ifdef HAS_ALLOCATOR_COUNT
  check(__sanitizer_get_current_allocated_bytes() <= bytes + 4096, "ten thousand predictions leave no memory behind");
#endif
  for (int i = 0; i < 500; i++) other_ways();
  twin::wait_idle();
  check(twin::counts().objects == objects, "batches, handlers, copies and writes leave no object behind");
  // Failures must not leave anything either.
  twin::configure("predict=throw");
  for (int i = 0; i < 200; i++) expect_code("COREML_EXCEPTION", "an exception", round);
  twin::configure("predict=fail");
  for (int i = 0; i < 200; i++) expect_code("COREML_PREDICT", "an error", round);
  twin::configure("");
  check(twin::counts().objects == objects, "failures leave no object behind");
}

}  // namespace

void state_tests() {
  states();
  flexible();
  batches();
  functions();
  no_growth();
}
