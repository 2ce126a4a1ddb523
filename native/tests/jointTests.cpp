// Joint steps without Node: three sessions of a plan with one product, whose results are known.
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "coreTests.h"
#include "cpu/joint.h"

namespace core_tests {
namespace {

struct Writer {
  std::vector<uint8_t> data;
  template <class T>
  void put(T value) {
    const auto* raw = reinterpret_cast<const uint8_t*>(&value);
    data.insert(data.end(), raw, raw + sizeof value);
  }
  void numbers(std::initializer_list<uint32_t> values) {
    for (const uint32_t value : values) put(value);
  }
  void text(const std::string& text) {
    put(static_cast<uint32_t>(text.size()));
    data.insert(data.end(), text.begin(), text.end());
    while (data.size() % 4 != 0) data.push_back(0);
  }
};

// y[T, 2] = x[T, 2] · wᵀ with w = [[1, 10], [100, 1000]]; T at most 8.
std::shared_ptr<rlx::Plan> product_plan() {
  constexpr auto f32 = static_cast<uint32_t>(rlx::DType::f32);
  constexpr uint32_t constant = 2, input = 4, own = 5;
  Writer out;
  out.numbers({rlx::kPlanMagic, rlx::kPlanVersion});
  out.put(uint64_t{0});
  out.numbers({1, 4});
  for (const char* name : {"linear", "T", "x", "y"}) out.text(name);
  out.numbers({1, 1});
  out.put(uint64_t{8});
  out.numbers({2, 1});  // sizes: T and 2
  out.put(1.0);
  out.numbers({1, 0, 1});
  out.put(2.0);
  out.numbers({0, 0, 1, 2, 0, 1, 3, 2});  // no states; x is tensor 0, y tensor 2
  out.put(uint64_t{16});
  for (const float value : {1.0f, 10.0f, 100.0f, 1000.0f}) out.put(value);
  const auto tensor = [&](uint32_t rows, uint32_t storage, uint64_t bytes) {
    out.numbers({f32, 2, rows, 1, storage, 0});
    out.put(uint64_t{0});
    out.put(bytes);
  };
  out.put(uint32_t{3});
  tensor(0, input, 0);
  tensor(1, constant, 16);
  tensor(0, own, 0);
  out.numbers({1, 0, 2, 0, 1, 1, 2, 0});
  return std::make_shared<rlx::Plan>(out.data.data(), out.data.size(), nullptr);
}

struct Client {
  std::shared_ptr<rlx::JointRun<rlx::Session>> run = std::make_shared<rlx::JointRun<rlx::Session>>();
  std::atomic<bool> cancel{false};
  std::string code = "open";

  Client(const std::shared_ptr<rlx::Plan>& plan, size_t threads, float a, float b) {
    rlx::SessionOptions options;
    options.threads = threads;
    options.kernels = rlx::kernels::dispatch(nullptr);
    run->session = std::make_shared<rlx::Session>(plan, options);
    std::vector<uint8_t> x(2 * sizeof(float));
    std::memcpy(x.data(), &a, sizeof a);
    std::memcpy(x.data() + sizeof a, &b, sizeof b);
    run->request.inputs.emplace_back("x", x);
    run->request.symbols.emplace_back("T", 1);
    run->request.fetch.push_back("y");
    run->cancel = &cancel;
    run->done = [this](std::unique_ptr<rlx::Error> error) {
      code = code == "open" ? error ? rlx::code_name(error->code()) : "done" : "twice";
    };
  }
  bool holds(float first, float second) const {
    if (run->result.outputs.size() != 1) return false;
    float y[2];
    std::memcpy(y, run->result.outputs[0].bytes.data(), sizeof y);
    return y[0] == first && y[1] == second;
  }
};

}  // namespace

void test_joint_steps() {
  const auto plan = product_plan();
  rlx::Pool pool;
  for (const size_t threads : {1, 3}) {
    rlx::CpuJoint joint(pool);
    Client one(plan, threads, 1, 2), two(plan, threads, 3, 4), three(plan, threads, 5, 6);
    Client late(plan, threads, 7, 8), stopped(plan, threads, 9, 9), other(plan, threads + 1, 1, 1);
    late.run->early = false;
    stopped.cancel = true;
    for (Client* client : {&one, &two, &three, &late, &stopped, &other}) {
      CHECK(rlx::CpuJoint::takes(*client->run->session, client->run->request));
      joint.add(client->run);
    }
    joint.drive(one.run);
    // x · wᵀ by hand.
    CHECK(one.code == "done" && one.holds(21, 2100));
    CHECK(two.code == "done" && two.holds(43, 4300));
    CHECK(three.code == "done" && three.holds(65, 6500));
    CHECK(one.run->result.together == 3);
    CHECK(stopped.code == "CANCELLED");
    CHECK(late.code == "open" && other.code == "open");
    // Each at its turn, and what has ended is not run again.
    for (Client* client : {&two, &late, &other}) joint.drive(client->run);
    CHECK(two.code == "done" && late.code == "done" && late.holds(87, 8700));
    CHECK(late.run->result.together == 1);
    CHECK(other.code == "done" && other.holds(11, 1100));
  }

  // A request that is refused harms no other.
  rlx::CpuJoint joint(pool);
  Client good(plan, 2, 1, 2), bad(plan, 2, 1, 2), again(plan, 2, 3, 4);
  bad.run->request.inputs.clear();
  for (Client* client : {&good, &bad, &again}) joint.add(client->run);
  joint.drive(good.run);
  CHECK(good.code == "done" && bad.code == "INPUT_ARGUMENT" && again.code == "done" && again.holds(43, 4300));

  Client prompt(plan, 2, 1, 2);
  prompt.run->request.symbols[0].second = 2;
  CHECK(!rlx::CpuJoint::takes(*prompt.run->session, prompt.run->request));
  prompt.run->request.symbols[0].second = 1;
  prompt.run->request.profile = true;
  CHECK(!rlx::CpuJoint::takes(*prompt.run->session, prompt.run->request));
}

}  // namespace core_tests
