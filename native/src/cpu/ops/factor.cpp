// Factorisations of matrices and what is solved with them: an item is one matrix of the batch.
#include "../../core/factor.h"

#include "doubles.h"
#include "tables.h"

namespace rlx {
namespace {

template <class T>
class Factor final : public Op {
 public:
  explicit Factor(const OpContext& context) : Op(context) {
    if (!factor::find_routine(c.name, &problem_.routine)) reject(Code::bug_invariant, "no routine of this name");
    arity(problem_.inputs(), problem_.inputs(), problem_.outputs());
    const DType type = std::is_same_v<T, double> ? DType::f64 : DType::f32;
    for (const Tensor* tensor : c.in) expect_type(tensor, type, "operand");
    for (const Tensor* tensor : c.out) expect_type(tensor, type, "result");
    problem_.upper = c.params.flag("upper");
    problem_.transposed = c.params.flag("transposed");
    problem_.unit = c.params.flag("unit");
  }
  void bind() override {
    using factor::Routine;
    const Tensor& a = in(0);
    expect(a.rank >= 2, "the operand is no matrix");
    problem_.rows = a.shape[a.rank - 2];
    problem_.columns = a.shape[a.rank - 1];
    const bool square = problem_.routine != Routine::qr && problem_.routine != Routine::svd;
    expect(!square || problem_.rows == problem_.columns, "the matrix is not square");
    batch_ = a.span(0, a.rank - 2);
    if (problem_.inputs() == 2) {
      const Tensor& b = in(1);
      expect(b.rank == a.rank && b.shape[b.rank - 2] == problem_.rows, "the right-hand side has another size");
      problem_.right = b.shape[b.rank - 1];
      expect(b.count == batch_ * problem_.input_size(1), "the right-hand side has another batch");
    }
    for (size_t i = 0; i < problem_.outputs(); i++)
      expect(out(i).count == batch_ * problem_.output_size(i), "a result has another size");
    thread_bytes = factor::whole_size(problem_) * sizeof(double);
  }
  size_t items(size_t) const override { return batch_; }
  void run(size_t, size_t item, Thread& thread) override {
    const void* given[2] = {};
    void* made[3] = {};
    for (size_t i = 0; i < c.in.size(); i++) given[i] = in(i).data;
    for (size_t i = 0; i < c.out.size(); i++) made[i] = out(i).data;
    factor::Problem problem = problem_;
    problem.cancel = thread.cancel;
    factor::run_item<T>(problem, given, made, item, reinterpret_cast<double*>(thread.scratch));
  }

 private:
  factor::Problem problem_{};
  size_t batch_ = 0;
};

constexpr auto* kMake = make_real<Factor<float>, Factor<double>>;
constexpr KernelEntry kTable[] = {
    {"dense_solve", kMake}, {"cholesky", kMake}, {"triangular_solve", kMake}, {"qr", kMake}, {"svd", kMake},
    {"eigh", kMake},        {"det", kMake},      {"logdet", kMake},
};

}  // namespace

std::span<const KernelEntry> factor_kernels() { return kTable; }

}  // namespace rlx
