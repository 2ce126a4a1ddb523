// Settings of the Core ML double for a test: the system, the failures, and the source of the
// numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#if defined(__GNUC__)
#define COREML_DOUBLE_API __attribute__((visibility("default")))
#endif

namespace coreml_double {

struct Tensor {
  std::string name;
  std::string type;  // fp16, fp32, fp64, int32, int8
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;  // dense, row-major
};

struct Request {
  std::string package;  // a folder that can be opened as a .mlpackage
  std::string function;
  std::vector<Tensor> inputs;
  std::vector<Tensor> states;
};
struct Reply {
  std::vector<Tensor> outputs;
  std::vector<Tensor> states;  // what they became
  std::string error;           // not empty: the prediction fails with this sentence
};
// Called on the thread that predicts. Without one, outputs are zeros of the declared shapes.
using Evaluator = std::function<Reply(const Request&)>;
void set_evaluator(Evaluator evaluator);

// `key=value` pairs, separated by spaces; what is not named goes back to its default. The first
// setting comes from the environment variable RLX_COREML_DOUBLE.
//   os=15.5            the system that is played               ane=0            a machine without a Neural Engine
//   os-build=24F74     its build
//   refuse=A+B         programs in which all these operators are do not load where the Neural Engine is allowed
//   compile=ok|fail|throw|kill|hang    load=ok|fail|throw|kill|hang    predict=ok|fail|throw|kill|abort|cancelled
//   plan=ok|fail       compile-ms, load-ms, predict-ms         how long each takes
//   noise=1            the compiler writes to standard output  pad=64           bytes that output rows are padded to
//   backings=1         output backings are used (0: ignored)   thermal=0..3     low-power=0
void configure(const std::string& text);

struct Counts {
  long objects;       // Objective-C objects that exist
  long predictions;   // finished since the start
  long handlers;      // asynchronous calls that have not answered
  int most_at_once;   // predictions that ran at the same time
  int backings_used;  // outputs written where the caller proposed
};
Counts counts();
// What the model that was opened last was configured with: "units=3 low-precision=0 function=decode
// title= reshape=1 strategy=1".
std::string last_configuration();
// Waits until no asynchronous call is under way.
void wait_idle();

}  // namespace coreml_double
