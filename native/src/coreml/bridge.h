// The Core ML bridge: plain C++ on the outside, Core ML inside. Every call may block and none may
// run on the JavaScript thread; what Apple's side reports (NSError, NSException) arrives as Failure
// with a code. No Objective-C type crosses this header.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace rlx::coreml {

// A code of main/diagnostics/codes.ts, a sentence, and what the system said.
class Failure : public std::exception {
 public:
  Failure(const char* code, std::string message, std::string domain = "", long number = 0)
      : code_(code), message_(std::move(message)), domain_(std::move(domain)), number_(number) {}
  const char* code() const { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& domain() const { return domain_; }
  long number() const { return number_; }

 private:
  const char* code_;
  std::string message_;
  std::string domain_;
  long number_;
};

// The current exception as a Failure, where it must not pass through frames of the system or end a
// thread.
inline std::unique_ptr<Failure> caught() {
  try {
    throw;
  } catch (const Failure& failure) {
    return std::make_unique<Failure>(failure);
  } catch (const std::bad_alloc&) {
    return std::make_unique<Failure>("ENV_NO_MEMORY", "[coreml] out of memory");
  } catch (const std::exception& error) {
    return std::make_unique<Failure>("BUG_INVARIANT", std::string("[coreml] ") + error.what());
  }
}

// Asked between steps and while waiting for a handler.
using Cancel = std::shared_ptr<std::atomic<bool>>;

// ------------------------------------------------------------------------------- tensors

enum class DType { f16, f32, f64, i32, i8, none };
const char* dtype_name(DType type);
size_t byte_width(DType type);

using Shape = std::vector<int64_t>;
using Bytes = std::shared_ptr<std::vector<uint8_t>>;

// Dense, row-major. An empty shape is worked out from the feature and the number of elements.
struct Tensor {
  std::string name;
  DType type = DType::f32;
  Shape shape;
  Bytes bytes;
};

struct Feature {
  std::string name;
  DType type = DType::none;
  Shape shape;                                      // the default one
  std::vector<Shape> shapes;                        // enumerated
  std::vector<std::pair<int64_t, int64_t>> ranges;  // lowest and highest size of each dim; highest < 0: without end
  bool optional = false;
};
struct Interface {
  std::vector<Feature> inputs, outputs, states;
};

// --------------------------------------------------------------------- compile and load

enum class Units { cpu = 0, cpu_gpu = 1, all = 2, cpu_ane = 3 };

struct LoadOptions {
  Units units = Units::cpu_ane;
  std::string function;             // empty: the model's default
  bool infrequent_reshape = false;  // optimise again for each shape
  bool fast_prediction = false;     // a longer load for faster predictions
  std::string title;
};

struct Compiled {
  bool cached = false;
  double seconds = 0;
};
// Compiles a package into the folder `target`, which appears complete or not at all; does nothing
// when it is there. The compiler writes to standard output: standard output is redirected
// meanwhile, for the whole process.
Compiled compile(const std::string& package, const std::string& target, const Cancel& cancel);

// Names of the functions of a compiled model; empty for one that has a single function, or on
// systems before 15.
std::vector<std::string> function_names(const std::string& compiled, const Cancel& cancel);

// -------------------------------------------------------------------------------- predict

struct PredictOptions {
  bool keep_half = false;  // f16 outputs as they are, instead of f32
  Cancel cancel;
};
struct Prediction {
  std::vector<Tensor> outputs;
  double seconds = 0;         // from the call to the last output copied
  double system_seconds = 0;  // inside Core ML
  int backings_used = 0;      // outputs that Core ML wrote where we proposed
};

class State;

class Model : public std::enable_shared_from_this<Model> {
 public:
  static std::shared_ptr<Model> load(const std::string& compiled, const LoadOptions& options, const Cancel& cancel);
  // From a package without compiling it to a file first: macOS 15 for those with a weight file.
  static std::shared_ptr<Model> load_in_memory(const std::string& package, const LoadOptions& options,
                                               const Cancel& cancel);
  virtual ~Model() = default;

  virtual const Interface& interface() const = 0;
  virtual double load_seconds() const = 0;
  virtual std::shared_ptr<State> new_state() = 0;  // ENV_NO_DEVICE before macOS 15

  using Done = std::function<void(std::unique_ptr<Prediction>, std::unique_ptr<Failure>)>;
  virtual Prediction predict(const std::vector<Tensor>& inputs, const std::shared_ptr<State>& state,
                             const PredictOptions& options) = 0;
  // Answers on some thread. Predictions that share a state run one after the other, in order.
  virtual void predict_async(std::vector<Tensor> inputs, std::shared_ptr<State> state, PredictOptions options,
                             Done done) = 0;
  virtual std::vector<Prediction> predict_batch(const std::vector<std::vector<Tensor>>& items,
                                                const PredictOptions& options) = 0;
};

class State {
 public:
  virtual ~State() = default;
  virtual Tensor read(const std::string& name, bool keep_half) = 0;
  virtual void write(const Tensor& tensor) = 0;
  virtual std::shared_ptr<State> copy() = 0;
};

// --------------------------------------------------------------------------- the truth

struct PlannedOp {
  std::string function;
  std::string op;         // without the opset: "linear"
  std::string output;     // of its first output: how it is joined to our operations
  std::string preferred;  // cpu, gpu, ane; empty: no usage (constants, or a structure only)
  std::vector<std::string> supported;
  double cost = -1;  // share of the whole, below 0: not said
  int depth = 0;     // of nested blocks
};
struct Plan {
  bool has_usage = false;  // false: the structure alone
  std::string refusal;     // why there is no plan
  std::vector<PlannedOp> ops;
};
Plan compute_plan(const std::string& compiled, const LoadOptions& options, const Cancel& cancel);

struct Machine {
  std::string model, chip, os, os_build, gpu;
  int os_major = 0, os_minor = 0;
  int performance_cores = 0, efficiency_cores = 0;
  uint64_t memory_bytes = 0, gpu_bytes = 0;
  uint64_t process_bytes = 0;  // what this process is charged with, memory shared with GPU and Neural Engine included
  bool unified_memory = false, ane = false, rosetta = false, low_power = false;
  int ane_cores = 0;  // 0: not said
  std::string thermal;
};
Machine machine();

}  // namespace rlx::coreml
