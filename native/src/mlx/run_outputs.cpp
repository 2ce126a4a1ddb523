#include "run_outputs.h"

#include <mlx/ops.h>

#include <algorithm>

#include "../core/error.h"

namespace rlx::gpu {
namespace {

size_t output_of(const Plan& plan, const std::string& name) {
  const auto& outputs = plan.outputs;
  for (size_t i = 0; i < outputs.size(); i++)
    if (outputs[i].name == name) return i;
  fail(Code::input_argument, "[run] no output named %s", name.c_str());
}

}  // namespace

RunOutputs::RunOutputs(const Plan& plan, const RunRequest& request, const SampleRequest& sampling,
                       const std::vector<mx::array>& results) {
  for (const std::string& name : request.fetch) {
    const size_t index = output_of(plan, name);
    fetched_.emplace_back(index, mx::contiguous(results[index]));
  }
  if (!request.sample && !request.score) return;
  const mx::array& logits = results[output_of(plan, request.logits)];
  if (logits.dtype() != mx::float32 || logits.ndim() != 2 || logits.size() == 0)
    fail(Code::input_argument, "[run] output %s holds no logits", request.logits.c_str());
  const int rows = logits.shape(0), width = logits.shape(1);
  if (request.sample) {
    const mx::array row = mx::slice(logits, {rows - 1, 0}, {rows, width});
    draw_ = draw_token(row, sampling);
  }
  if (request.score) {
    const std::vector<int32_t>& targets = request.score->targets;
    check_targets(*request.score, static_cast<size_t>(rows), static_cast<size_t>(width));
    std::vector<int32_t> places;
    for (const int32_t target : targets) places.push_back(std::max(0, target));
    const mx::array picked = mx::take_along_axis(logits, mx::array(places.data(), {rows, 1}, mx::int32), 1);
    score_ = Score{mx::contiguous(mx::reshape(mx::subtract(picked, mx::logsumexp(logits, 1, true)), {rows})),
                   mx::contiguous(mx::astype(mx::argmax(logits, 1, false), mx::int32))};
  }
}

void RunOutputs::add_to(std::vector<mx::array>& wanted) const {
  for (const auto& [index, value] : fetched_) wanted.push_back(value);
  if (draw_) draw_->add_to(wanted);
  if (score_) wanted.insert(wanted.end(), {score_->logprobs, score_->bests});
}

void RunOutputs::read(const Plan& plan, const RunRequest& request, std::vector<Fetched>& outputs,
                      RunResult& result) const {
  outputs.resize(fetched_.size());
  for (size_t i = 0; i < outputs.size(); i++) {
    const auto& [index, value] = fetched_[i];
    Fetched& fetched = outputs[i];
    fetched.name = plan.outputs[index].name;
    fetched.dtype = plan.outputs[index].type.dtype;
    fetched.shape.assign(value.shape().begin(), value.shape().end());
    const auto* bytes = value.data<uint8_t>();
    fetched.bytes.assign(bytes, bytes + value.nbytes());
  }
  if (score_) {
    const auto* logprobs = score_->logprobs.data<float>();
    const auto* bests = score_->bests.data<int32_t>();
    const size_t rows = score_->logprobs.size();
    result.scored = Scored{{logprobs, logprobs + rows}, {bests, bests + rows}};
    for (size_t i = 0; i < rows; i++)
      if (request.score->targets[i] < 0) result.scored->logprobs[i] = 0;
  }
}

}  // namespace rlx::gpu
