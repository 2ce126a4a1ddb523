// The core without Node: handles, memory, random numbers, the sampler, and false plans. Threads and
// mapped files have files of their own.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/handles.h"
#include "core/memory.h"
#include "core/pool.h"
#include "coreTests.h"
#include "cpu/plan.h"
#include "core/sampling.h"
#include "cpu/sample.h"
#include "cpu/session.h"
#include "cpu/tuning/product_trials.h"

namespace {

using core_tests::code_of;
using core_tests::same;

void test_handles() {
  rlx::Handles handles;
  const double first = handles.add(std::make_shared<int>(1));
  CHECK(*handles.get<int>(first, "int") == 1);
  CHECK(same(code_of([&] { handles.get<double>(first, "double"); }), "HANDLE_UNKNOWN"));
  CHECK(handles.remove(first));
  CHECK(!handles.remove(first));
  const double second = handles.add(std::make_shared<int>(2));
  CHECK(first != second);
  CHECK(same(code_of([&] { handles.get<int>(first, "int"); }), "HANDLE_UNKNOWN"));
  for (const double bad : {-1.0, 0.5e-3, 1e300, 0.0 / 0.0})
    CHECK(same(code_of([&] { handles.get<int>(bad, "int"); }), "HANDLE_UNKNOWN"));
}

void test_memory() {
  rlx::Pages pages(size_t{1} << 34);  // costs nothing until it is touched
  pages.data()[0] = 1;
  pages.data()[(size_t{1} << 34) - 1] = 2;
  pages.clear();
  CHECK(pages.data()[0] == 0);
  CHECK(same(code_of([] { rlx::Pages impossible(size_t{1} << 62); }), "ENV_NO_MEMORY"));
}

void test_errors() {
  const auto caught = [](auto thrown) {
    try {
      throw thrown;
    } catch (const std::exception&) {
      return rlx::current_error("engine");
    }
  };
  CHECK(same(code_of([&] { throw caught(std::bad_alloc()); }), "ENV_NO_MEMORY"));
  CHECK(same(code_of([&] { throw caught(std::logic_error("no")); }), "BUG_INVARIANT"));
  CHECK(same(code_of([&] { throw caught(rlx::Error(rlx::Code::cancelled, "no")); }), "CANCELLED"));
  // As std::thread throws it.
  const auto refused = std::make_error_code(std::errc::resource_unavailable_try_again);
  const rlx::Error thread = caught(std::system_error(refused));
  CHECK(same(rlx::code_name(thread.code()), "ENV_NO_MEMORY"));
  CHECK(std::string(thread.what()).find("Use fewer threads") != std::string::npos);
}

// A machine: the time of a product with each setting, as a share of that without prefetching. The
// second token of a trial takes `drift` times as long.
struct Machine {
  double far, near, drift = 1.0;

  double time(rlx::kernels::Prefetch prefetch) const {
    using rlx::kernels::Prefetch;
    return prefetch == Prefetch::far ? far : prefetch == Prefetch::near ? near : 1.0;
  }
  // The usual setting, unless another one is better by more than 2 %.
  rlx::kernels::Prefetch best(rlx::kernels::Prefetch usual) const {
    using rlx::kernels::Prefetch;
    Prefetch best = usual;
    double least = 0.98 * time(usual);
    for (const Prefetch prefetch : {Prefetch::none, Prefetch::far, Prefetch::near}) {
      if (time(prefetch) >= least) continue;
      best = prefetch;
      least = time(prefetch);
    }
    return best;
  }
};

// Two trials behind the first token, then one in 64.
bool in_trial(size_t token) { return token < 64 ? token >= 1 && token <= 4 : token % 64 == 1 || token % 64 == 2; }

// The setting of the last product after so many tokens on that machine.
rlx::kernels::Prefetch after_trials(rlx::PrefetchStatistics& statistics, Machine machine, size_t count, size_t tokens) {
  using rlx::kernels::Prefetch;
  std::vector<rlx::PrefetchTrial> products;
  for (size_t i = 0; i < count; ++i) products.emplace_back(statistics, statistics.begins_with_other());
  Prefetch last = Prefetch::none;
  for (size_t token = 0; token < tokens; ++token) {
    for (size_t i = 0; i < count; ++i) {
      products[i].begin();
      last = products[i].prefetch();
      CHECK(products[i].is_timed() == in_trial(token));
      const double slower = static_cast<double>(1 + i) * (in_trial(token) && token % 2 == 0 ? machine.drift : 1.0);
      if (products[i].is_timed()) products[i].took(64, slower * machine.time(last));
    }
  }
  return last;
}

void test_prefetch_trials() {
  using rlx::PrefetchStatistics;
  using rlx::kernels::Prefetch;
  for (const Prefetch usual : {Prefetch::none, Prefetch::far}) {
    const Prefetch other = usual == Prefetch::none ? Prefetch::far : Prefetch::none;
    // However memory changes between the two tokens of a trial, and however many products there
    // are.
    for (const size_t products : {1, 3, 16, 17}) {
      for (const double drift : {0.7, 0.8, 1.0, 1.25, 1.5}) {
        for (const double far : {0.8, 0.93, 1.0, 1.2}) {
          for (const double near : {0.7, 0.9, 0.99, 1.1, 1.4}) {
            PrefetchStatistics statistics(usual);
            const Machine machine{far, near, drift};
            CHECK(after_trials(statistics, machine, products, 8 * 64) == machine.best(usual));
          }
        }
      }
    }
    const Machine likes_near{1.0, 0.7}, hates_near{1.0, 1.4};
    PrefetchStatistics statistics(usual);
    CHECK(after_trials(statistics, likes_near, 16, 1) == usual);
    CHECK(after_trials(statistics, likes_near, 16, 10) == Prefetch::near);
    // The machine changes: newer trials outvote older ones.
    CHECK(after_trials(statistics, hates_near, 16, 10 + 64 * 3) == usual);
    PrefetchStatistics alone(usual);
    CHECK(after_trials(alone, likes_near, 1, 64 * 7) == Prefetch::near);
    CHECK(after_trials(alone, hates_near, 1, 64 * 16) == usual);
    // The third setting is found in the first five tokens, too.
    PrefetchStatistics third(usual);
    CHECK(after_trials(third, usual == Prefetch::none ? Machine{0.9, 1.2} : Machine{1.2, 1.5}, 16, 10) == other);
    // A thread that got nothing to do in one of the two tokens, or in both.
    for (const bool never : {false, true}) {
      PrefetchStatistics idle(usual);
      rlx::PrefetchTrial trial(idle, true);
      for (size_t token = 0; token < 400; ++token) {
        trial.begin();
        if (!never && trial.is_timed() && trial.prefetch() == usual) trial.took(64, 1.0);
      }
      CHECK(idle.best() == usual);
    }
  }
}

void test_prefetch_tuner() {
  using rlx::PrefetchTuner;
  using rlx::kernels::Prefetch;
  using rlx::kernels::Type;
  CHECK(PrefetchTuner(*rlx::kernels::dispatch_for(rlx::kernels::Isa::scalar)).of(Type::q4_k, 1024) == nullptr);
  const auto& best = *rlx::kernels::dispatch(nullptr);
  const PrefetchTuner tuner(best);
  CHECK(tuner.of(Type::f32, 1024) == nullptr && tuner.of(Type::bf16, 1024) == nullptr);
  if (!rlx::kernels::is_x86(best.isa)) return;
  CHECK(tuner.of(Type::q4_k, 1024) == tuner.of(Type::q4_k, 4096));
  CHECK(tuner.of(Type::q4_k, 1024) != tuner.of(Type::q5_k, 1024));
  for (const Type type : {Type::q4_k, Type::q8_0}) {
    CHECK(tuner.tuning().prefetch(type, 1024) == Prefetch::none);
    CHECK(tuner.tuning().prefetch(type, 8192) == Prefetch::far);
  }
  CHECK(tuner.tuning().prefetch(Type::q6_k, 1024) ==
        (rlx::kernels::is_avx512(best.isa) ? Prefetch::far : Prefetch::none));
}

// Items run with the setting of their product's trial, only while they run, and the time goes to
// that product.
void test_product_trials() {
  using rlx::kernels::Prefetch;
  using rlx::kernels::Type;
  const auto& best = *rlx::kernels::dispatch(nullptr);
  if (!rlx::kernels::is_x86(best.isa)) return;
  const rlx::PrefetchTuner tuner(best);
  const rlx::TunedProduct products[] = {{Type::q4_k, 1024, 64, 32, 0}, {Type::q8_0, 1024, 40, 32, 2}};
  rlx::ProductTrials trials(tuner, products, 2);
  rlx::kernels::Tuning tuning = tuner.tuning();
  for (size_t token = 0; token < 300; token++) {
    for (size_t thread = 0; thread < 2; thread++) {
      trials.begin(thread);
      for (size_t item = 0; item < 5; item++) {
        size_t runs = 0;
        Prefetch seen[2];
        trials.run(thread, item, tuning, [&] {
          runs++;
          seen[0] = tuning.prefetch(Type::q4_k, 1024);
          seen[1] = tuning.prefetch(Type::q8_0, 1024);
        });
        CHECK(runs == 1);
        // The other product keeps its setting; an item behind the last product changes nothing.
        if (item >= 2) CHECK(seen[0] == Prefetch::none);
        if (item < 2 || item == 4) CHECK(seen[1] == Prefetch::none);
        if (!in_trial(token)) CHECK(seen[0] == Prefetch::none && seen[1] == Prefetch::none);
        CHECK(tuning.prefetch(Type::q4_k, 1024) == Prefetch::none &&
              tuning.prefetch(Type::q8_0, 1024) == Prefetch::none);
      }
    }
  }
}

void test_philox() {
  // Known answers of Random123 (Salmon et al.): philox4x32, 10 rounds.
  const struct {
    uint32_t counter[4], key[2], want[4];
  } cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const auto& known : cases) {
    uint32_t got[4];
    rlx::philox4x32(known.counter, known.key, got);
    CHECK(std::memcmp(got, known.want, sizeof got) == 0);
  }
  double sum = 0;
  for (uint64_t i = 0; i < 100000; i++) {
    const double x = rlx::philox_uniform(3, i);
    if (!(x >= 0 && x < 1)) CHECK(!"in [0, 1)");
    sum += x;
  }
  CHECK(sum > 49700 && sum < 50300);
}

// A vocabulary is shared by threads in parts: any number of them gives the same, also where a whole
// part is ruled out.
void test_sampler_parts() {
  const rlx::kernels::Dispatch& kernels = *rlx::kernels::dispatch(nullptr);
  rlx::Pages work;
  rlx::Pool pool;
  std::vector<float> logits(100'000);
  for (size_t i = 0; i < logits.size(); i++) logits[i] = static_cast<float>(rlx::philox_uniform(5, i) * 8);
  std::fill(logits.begin() + 30'000, logits.begin() + 70'000, -INFINITY);
  for (const size_t best : {size_t{3}, size_t{16'384}, size_t{99'999}}) {
    std::vector<float> row = logits;
    row[best] = 9;
    if (best == 3) row[20'000] = 9;  // of equals the first
    double total = 0;
    for (const float x : row) total += std::exp(static_cast<double>(x));
    const double want = 9 - std::log(total);
    const rlx::Sampled one = rlx::sample(kernels, pool, 1, row.data(), row.size(), {}, work);
    CHECK(one.token.id == best);
    CHECK(std::abs(static_cast<double>(one.token.logprob) - want) < 2e-6 * std::abs(want));
    for (const size_t threads : {2, 3, 16}) {
      const rlx::Sampled many = rlx::sample(kernels, pool, threads, row.data(), row.size(), {}, work);
      CHECK(many.token.id == one.token.id && many.token.logprob == one.token.logprob);
    }
  }
}

void test_sampler() {
  const rlx::kernels::Dispatch& kernels = *rlx::kernels::dispatch(nullptr);
  rlx::Pages work;
  rlx::Pool pool;
  const std::vector<float> logits = {1, 3, 2, 0, -1};
  rlx::SampleRequest request;
  CHECK(rlx::sample(kernels, pool, 2, logits.data(), 5, request, work).token.id == 1);
  request.repeat_penalty = 4;
  request.recent = {1, 1, 99, -5};
  CHECK(rlx::sample(kernels, pool, 2, logits.data(), 5, request, work).token.id == 2);
  request = {};
  request.temperature = 1;
  // Shares of 20 000 draws against the softmax; the filters leave exactly what they should.
  const auto shares = [&] {
    std::vector<double> found(5);
    for (request.step = 0; request.step < 20000; request.step++)
      found[rlx::sample(kernels, pool, 2, logits.data(), 5, request, work).token.id] += 1 / 20000.0;
    return found;
  };
  const double expected[] = {0.08613, 0.63641, 0.23412, 0.03168, 0.01166};
  std::vector<double> found = shares();
  for (size_t i = 0; i < 5; i++) CHECK(std::abs(found[i] - expected[i]) < 0.012);
  request.top_k = 2;
  found = shares();
  CHECK(found[0] + found[3] + found[4] == 0 && found[2] > 0.2);
  request.top_k = 0;
  request.top_p = 0.7;
  found = shares();
  CHECK(found[0] + found[3] + found[4] == 0 && found[2] > 0.2);
  request.top_p = 1;
  request.min_p = 0.5;
  found = shares();
  CHECK(found[0] == 0 && found[2] == 0 && found[3] == 0 && found[4] == 0 && found[1] > 0.999);
  const std::vector<float> poison(5, NAN);
  CHECK(same(code_of([&] { rlx::sample(kernels, pool, 2, poison.data(), 5, request, work); }), "RUN_FAILED"));
}

// ------------------------------------------------------------------------------------------------ plans

struct Bytes {
  std::vector<uint8_t> data;
  template <class T>
  void put(T value) {
    const auto* raw = reinterpret_cast<const uint8_t*>(&value);
    data.insert(data.end(), raw, raw + sizeof value);
  }
  void u32(uint32_t value) { put(value); }
  void u64(uint64_t value) { put(value); }
  void f64(double value) { put(value); }
  void text(const char* text) {
    u32(static_cast<uint32_t>(std::strlen(text)));
    data.insert(data.end(), text, text + std::strlen(text));
    while (data.size() % 4 != 0) data.push_back(0);
  }
};

// y[T, 4] = x[T, 4] + x, in an own buffer; kernel by name.
Bytes small_plan(const char* kernel) {
  Bytes out;
  out.u32(rlx::kPlanMagic);
  out.u32(rlx::kPlanVersion);
  out.u64(0);
  out.u32(1);  // own buffers
  out.u32(4);
  for (const char* name : {kernel, "T", "x", "y"}) out.text(name);
  out.u32(1);  // symbols: T, at most 8
  out.u32(1);
  out.u64(8);
  out.u32(2);  // sizes: T and 4
  out.u32(1), out.f64(1), out.u32(1), out.u32(0);
  out.u32(1), out.f64(4), out.u32(0);
  out.u32(0);  // states
  out.u32(1), out.u32(2), out.u32(0);
  out.u32(1), out.u32(3), out.u32(1);
  out.u64(0);  // constants
  out.u32(2);
  for (const uint32_t storage : {4u, 5u}) {
    out.u32(9), out.u32(2), out.u32(0), out.u32(1), out.u32(storage), out.u32(0), out.u64(0), out.u64(0);
  }
  out.u32(1);
  out.u32(0), out.u32(2), out.u32(0), out.u32(0), out.u32(1), out.u32(1), out.u32(0);
  return out;
}

const char* run_plan(const Bytes& plan, size_t rows, std::vector<float>* result = nullptr) {
  return code_of([&] {
    auto parsed = std::make_shared<rlx::Plan>(plan.data.data(), plan.data.size(), nullptr);
    rlx::SessionOptions options;
    options.kernels = rlx::kernels::dispatch(nullptr);
    rlx::Session session(parsed, options);
    rlx::RunRequest request;
    std::vector<uint8_t> input(rows * 4 * sizeof(float));
    for (size_t i = 0; i < rows * 4; i++) {
      const auto value = static_cast<float>(i);
      std::memcpy(input.data() + i * sizeof value, &value, sizeof value);
    }
    request.inputs.emplace_back("x", input);
    request.symbols.emplace_back("T", rows);
    request.fetch.push_back("y");
    rlx::Pool pool;
    std::atomic<bool> cancel{false};
    const rlx::RunResult done = session.run(pool, request, cancel);
    if (result != nullptr) {
      result->resize(done.outputs[0].bytes.size() / sizeof(float));
      std::memcpy(result->data(), done.outputs[0].bytes.data(), done.outputs[0].bytes.size());
    }
  });
}

void test_plans() {
  std::vector<float> y;
  CHECK(same(run_plan(small_plan("add"), 3, &y), "none"));
  CHECK(y.size() == 12);
  for (size_t i = 0; i < y.size(); i++) CHECK(y[i] == 2 * static_cast<float>(i));
  CHECK(same(run_plan(small_plan("add"), 9), "IR_SHAPE"));
  CHECK(same(run_plan(small_plan("no such kernel"), 1), "UNSUPPORTED_OP"));
  CHECK(same(run_plan(small_plan("matmul"), 3), "IR_SHAPE"));
  CHECK(same(run_plan(small_plan("linear_block"), 1), "IR_STRUCTURE"));

  // Every beginning of a plan, and ten thousand mutations of plans of every kernel: a code, or a
  // harmless run.
  const Bytes whole = small_plan("add");
  for (size_t length = 0; length < whole.data.size(); length++) {
    Bytes cut;
    cut.data.assign(whole.data.begin(), whole.data.begin() + static_cast<long>(length));
    CHECK(!same(run_plan(cut, 1), "none"));
  }
  std::mt19937 random(5);
  const std::vector<const char*> kernels = rlx::kernel_names();
  for (int i = 0; i < 10000; i++) {
    Bytes plan = small_plan(kernels[random() % kernels.size()]);
    for (uint32_t n = random() % 4; n-- > 0;)
      plan.data[random() % plan.data.size()] = static_cast<uint8_t>(random() % 3 == 0 ? 255 : random() % 16);
    run_plan(plan, random() % 9);
  }
}

}  // namespace

int main() {
  core_tests::test_threads();
  test_handles();
  test_errors();
  test_memory();
  core_tests::test_mapped_files();
  core_tests::test_rows();
  core_tests::test_stored_error();
  core_tests::test_joint_steps();
  test_philox();
  test_prefetch_trials();
  test_prefetch_tuner();
  test_product_trials();
  test_sampler();
  test_sampler_parts();
  test_plans();
  std::printf("%d passed, %d failed\n", core_tests::checks - core_tests::failures, core_tests::failures);
  return core_tests::failures == 0 ? 0 : 1;
}
