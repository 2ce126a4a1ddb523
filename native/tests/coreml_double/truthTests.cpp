// The bridge against the double: what the system says of itself and of a model, on this system and
// on older ones.
#include <cmath>

#include "testKit.h"

namespace {

void plans() {
  const std::string model = compiled("plan", {typed("fp16", {1, 4})});
  const Plan plan = compute_plan(model, {}, nullptr);
  std::string seen;
  for (const PlannedOp& op : plan.ops)
    seen += op.op + ">" + op.output + "@" + std::to_string(op.depth) +
            (op.preferred.empty() ? "" : ":" + op.preferred) + " ";
  check(seen ==
            "const>two@0 constexpr_lut_to_dense>weight@0 mul>y@0:ane cond>z@0:ane gather>a@1:cpu while_loop>b@1:ane "
            "add>c@2:ane ",
        ("nested blocks are walked, constants have no device: " + seen).c_str());
  double cost = 0;
  for (const PlannedOp& op : plan.ops) cost += op.cost > 0 ? op.cost : 0;
  check(plan.has_usage && std::abs(cost - 1) < 1e-9, "costs are shares of the whole");
  LoadOptions cpu;
  cpu.units = Units::cpu;
  for (const PlannedOp& op : compute_plan(model, cpu, nullptr).ops)
    check(op.preferred.empty() || op.preferred == "cpu", "units shape the plan");
  twin::configure("plan=fail");
  const Plan bare = compute_plan(model, {}, nullptr);
  check(!bare.has_usage && bare.ops.size() == plan.ops.size() && !bare.refusal.empty(),
        "without a plan the structure alone, with the reason");
  twin::configure("ane=0");
  for (const PlannedOp& op : compute_plan(model, {}, nullptr).ops)
    check(op.preferred != "ane", "no Neural Engine, no placement on it");
  twin::configure("os=14.3");
  expect_code("ENV_NO_DEVICE", "no plans before 14.4", [&] { compute_plan(model, {}, nullptr); });
  twin::configure("");
  expect_code("INPUT_UNREADABLE", "a plan of what is no model",
              [&] { compute_plan((root / "plan.mlpackage").string(), {}, nullptr); });
}

void older_systems() {
  // The double raises on every selector that the played system does not have, so a missing guard
  // shows here.
  twin::configure("os=13.3");
  const std::string path = compiled("old", {typed("fp16", {1, 4})});
  const auto model = Model::load(path, {}, nullptr);
  const std::vector<Tensor> input{floats("x", {1, 4}, {1, 2, 3, 4})};
  check(values_of(model->predict(input, nullptr, {}).outputs[0])[3] == 8, "macOS 13.3 predicts");
  bool answered = false;
  model->predict_async(input, nullptr, {},
                       [&](std::unique_ptr<Prediction> made, std::unique_ptr<Failure>) { answered = made != nullptr; });
  check(answered, "macOS 13.3 answers asynchronous calls on the caller's thread");
  LoadOptions hints;
  hints.infrequent_reshape = hints.fast_prediction = true;
  check(Model::load(path, hints, nullptr) != nullptr, "hints are left out where the system has none");
  expect_code("ENV_NO_DEVICE", "no states before 15", [&] { model->new_state(); });
  check(values_of(Model::load_in_memory((root / "old.mlpackage").string(), {}, nullptr)
                      ->predict(input, nullptr, {})
                      .outputs[0])[3] == 8,
        "macOS 13.3 loads from memory what has no weight file");
  files::create_directories(root / "old.mlpackage/Data/com.apple.CoreML/weights");
  std::ofstream(root / "old.mlpackage/Data/com.apple.CoreML/weights/weight.bin") << "weights";
  expect_code("ENV_NO_DEVICE", "no weights in memory before 15",
              [&] { Model::load_in_memory((root / "old.mlpackage").string(), {}, nullptr); });
  LoadOptions function;
  function.function = "decode";
  expect_code("ENV_NO_DEVICE", "no functions before 15", [&] { Model::load(path, function, nullptr); });
  check(function_names(path, nullptr).empty(), "no names before 15");
  expect_code("COREML_LOAD", "a model that needs a newer system",
              [&] { Model::load((root / "state.mlmodelc").string(), {}, nullptr); });
  const Machine old = machine();
  check(old.ane && old.ane_cores == 0, "before 14 the registry tells the Neural Engine");
  for (const char* version : {"14.0", "14.4"}) {
    twin::configure(std::string("os=") + version);
    check(Model::load(path, hints, nullptr)->predict(input, nullptr, {}).outputs.size() == 1, "the systems between");
  }
  twin::configure("");
}

// What the options become: the system's own numbers, and halves never summed in halves.
void configurations() {
  const std::string single = compiled("configured", {typed("fp16", {1, 4})});
  const std::string several =
      compiled("configured-two", {typed("fp16", {1, 4}, "decode"), typed("fp16", {8, 4}, "prefill")});
  const auto opened = [](const std::string& path, const LoadOptions& options) {
    Model::load(path, options, nullptr);
    return twin::last_configuration();
  };
  const std::vector<std::pair<Units, int>> numbers{
      {Units::cpu, 0}, {Units::cpu_gpu, 1}, {Units::all, 2}, {Units::cpu_ane, 3}};
  for (const auto& [units, number] : numbers) {
    LoadOptions options;
    options.units = units;
    const std::string wanted =
        "units=" + std::to_string(number) + " low-precision=0 function= title= reshape=0 strategy=0";
    check(opened(single, options) == wanted, ("units reach the system: " + wanted).c_str());
  }
  LoadOptions hinted;
  hinted.infrequent_reshape = hinted.fast_prediction = true;
  hinted.function = "prefill";
  hinted.title = "named";
  check(opened(several, hinted) == "units=3 low-precision=0 function=prefill title=named reshape=1 strategy=1",
        "function, title and hints reach the system");
  twin::configure("os=14.4");
  hinted.function = "";
  check(opened(single, hinted) == "units=3 low-precision=0 function= title=named reshape=1 strategy=0",
        "macOS 14.4 has one hint of the two");
  twin::configure("");
}

void without_preference() {
  test_model::Entry entry = typed("fp16", {1, 4});
  entry.block = {{"y"}, {{"identity", {"same"}, {}}, {"mul", {"y"}, {}}}};
  const Plan plan = compute_plan(compiled("weightless", {entry}), {}, nullptr);
  check(plan.ops.size() == 2 && plan.ops[0].preferred.empty() && !plan.ops[0].supported.empty() &&
            plan.ops[1].preferred == "ane",
        "an operation may be supported and have no preferred device");
}

void refusals() {
  test_model::Entry entry = typed("fp16", {1, 4});
  entry.block = {{"y"}, {{"ios18.softmax", {"soft"}, {}}, {"mul", {"y"}, {}}}};
  const std::string path = compiled("refused", {entry});
  const auto load = [&](const char* settings, Units units) -> std::string {
    twin::configure(settings);
    LoadOptions options;
    options.units = units;
    try {
      Model::load(path, options, nullptr);
      return "";
    } catch (const Failure& failure) {
      return failure.what();
    }
  };
  check(load("refuse=softmax", Units::all).ends_with("with error code: -14."), "an operator that is refused");
  check(load("refuse=softmax+mul", Units::cpu_ane) != "" && load("refuse=softmax+add", Units::cpu_ane) == "",
        "operators that are refused together");
  check(load("refuse=softmax", Units::cpu_gpu) == "", "only where the Neural Engine is allowed");
  twin::configure("");
}

void machines() {
  twin::configure("thermal=2 low-power=1");
  const Machine here = machine();
  check(here.chip == "Apple M3 Pro" && here.model == "Mac15,6" && here.performance_cores == 6 &&
            here.efficiency_cores == 6,
        "chip and cores");
  check(here.ane && here.ane_cores == 16 && here.gpu == "Apple M3 Pro" && here.unified_memory, "Neural Engine and GPU");
  check(here.thermal == "serious" && here.low_power && !here.rosetta && here.os == "15.5.0" &&
            here.os_build == "24F74" && here.memory_bytes == 24ull << 30,
        "state of the machine");
  check(here.process_bytes > 1u << 20 && here.process_bytes < here.memory_bytes && here.gpu_bytes > 0,
        "memory of this process and of the GPU");
  const std::vector<uint8_t> more(64u << 20, 1);
  check(machine().process_bytes >= here.process_bytes + (32u << 20) && more[7] == 1, "memory that is taken shows");
  const std::vector<std::pair<std::string, std::string>> heats{
      {"0", "nominal"}, {"1", "fair"}, {"2", "serious"}, {"3", "critical"}};
  for (const auto& [number, name] : heats) {
    twin::configure("thermal=" + number);
    check(machine().thermal == name && !machine().low_power, ("heat is told: " + name).c_str());
  }
  twin::configure("ane=0");
  check(!machine().ane, "a machine without a Neural Engine");
  twin::configure("");
}

}  // namespace

void truth_tests() {
  plans();
  without_preference();
  configurations();
  older_systems();
  refusals();
  machines();
}
