// Factorisations of matrices. MLX's own go to the LAPACK of the system, whose signs and whose answer
// to singular matrices are its own. These are the routines of the CPU engine on MLX's stream of the
// CPU, where MLX's own run too: all devices give the same factors.
#include "../../core/factor.h"

#include <mlx/allocator.h>
#include <mlx/backend/cpu/encoder.h>
#include <mlx/primitives.h>

#include <memory>
#include <utility>

#include "family.h"

namespace rlx::gpu {
namespace {

template <class T>
void run_all(const factor::Problem& problem, const void* const* in, void* const* out, size_t batch) {
  std::vector<double> work(factor::whole_size(problem));
  for (size_t item = 0; item < batch; item++) factor::run_item<T>(problem, in, out, item, work.data());
}

class Factor final : public mx::Primitive {
 public:
  Factor(mx::Stream stream, const factor::Problem& problem, size_t batch)
      : mx::Primitive(stream), problem_(problem), batch_(batch) {}

  void eval_cpu(const Arrays& inputs, Arrays& outputs) override {
    auto& encoder = mx::cpu::get_command_encoder(stream());
    const void* in[2] = {};
    void* out[3] = {};
    for (size_t i = 0; i < inputs.size(); i++) {
      encoder.set_input_array(inputs[i]);
      in[i] = inputs[i].data<void>();
    }
    for (size_t i = 0; i < outputs.size(); i++) {
      outputs[i].set_data(mx::allocator::malloc(outputs[i].nbytes()));
      encoder.set_output_array(outputs[i]);
      out[i] = outputs[i].data<void>();
    }
    const bool wide = outputs[0].dtype() == mx::float64;
    encoder.dispatch([problem = problem_, batch = batch_, in0 = in[0], in1 = in[1], out0 = out[0], out1 = out[1],
                      out2 = out[2], wide]() {
      const void* const given[] = {in0, in1};
      void* const made[] = {out0, out1, out2};
      wide ? run_all<double>(problem, given, made, batch) : run_all<float>(problem, given, made, batch);
    });
  }
  void eval_gpu(const Arrays&, Arrays&) override {
    fail(Code::bug_invariant, "[mlx] %s runs on the CPU: got a stream of the GPU", name());
  }
  const char* name() const override { return "RlxFactor"; }
  bool is_equivalent(const mx::Primitive& other) const override {
    const auto* same = dynamic_cast<const Factor*>(&other);
    if (same == nullptr) return false;
    const factor::Problem &a = problem_, &b = same->problem_;
    return a.routine == b.routine && a.upper == b.upper && a.transposed == b.transposed && a.unit == b.unit;
  }

 private:
  factor::Problem problem_;
  size_t batch_;
};

Arrays factored(const Invocation& c) {
  factor::Problem problem{};
  if (!factor::find_routine(c.call.function->name, &problem.routine))
    fail(Code::bug_invariant, "[mlx] no routine %s", c.call.function->name);
  const array& a = c.in(0);
  problem.rows = static_cast<size_t>(a.shape(-2));
  problem.columns = static_cast<size_t>(a.shape(-1));
  if (problem.inputs() == 2) problem.right = static_cast<size_t>(c.in(1).shape(-1));
  problem.upper = c.number("upper", 0) != 0;
  problem.transposed = c.number("transposed", 0) != 0;
  problem.unit = c.number("unit", 0) != 0;
  size_t batch = 1;
  for (int axis = 0; axis + 2 < static_cast<int>(a.ndim()); axis++) batch *= static_cast<size_t>(a.shape(axis));

  const mx::Dtype type = a.dtype() == mx::float64 ? mx::float64 : mx::float32;
  const mx::Stream stream = mx::default_stream(mx::Device::cpu);
  Arrays inputs;
  for (size_t i = 0; i < problem.inputs(); i++)
    inputs.push_back(mx::contiguous(as_float(c.in(i), type), false, stream));
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> types(problem.outputs(), type);
  for (size_t i = 0; i < problem.outputs(); i++) shapes.push_back(c.shape(i));
  Arrays made = array::make_arrays(std::move(shapes), types, std::make_shared<Factor>(stream, problem, batch), inputs);
  for (size_t i = 0; i < made.size(); i++) made[i] = as_float(made[i], c.dtype(i));
  return made;
}

const Function kTable[] = {
    {"dense_solve", 2, 2, factored}, {"cholesky", 1, 1, factored}, {"triangular_solve", 2, 2, factored},
    {"qr", 1, 1, factored},          {"svd", 1, 1, factored},      {"eigh", 1, 1, factored},
    {"det", 1, 1, factored},         {"logdet", 1, 1, factored},
};

}  // namespace

std::span<const Function> factor_calls() { return kTable; }

}  // namespace rlx::gpu
