#include "sample.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "../core/error.h"

namespace rlx {

namespace {

// Facts about a row of logits. A vocabulary takes one thread a tenth of a millisecond or more, so
// threads share it. Parts are fixed and joined in order, so the result does not depend on the
// number of threads.
struct Summary {
  float log_sum_exp = 0;
  size_t best = 0;
};
constexpr size_t kPart = 16384;

Summary summarise(const kernels::Dispatch& kernels, Pool& pool, size_t threads, const float* logits,
                  size_t vocabulary) {
  struct Job {
    const kernels::Dispatch& kernels;
    const float* logits;
    size_t vocabulary;
    std::vector<Summary> parts;
    std::atomic<size_t> next{0};
  } job{kernels, logits, vocabulary, std::vector<Summary>((vocabulary + kPart - 1) / kPart), {}};
  pool.run(
      std::min(threads, job.parts.size()),
      [](void* argument, size_t) {
        Job& job = *static_cast<Job*>(argument);
        for (size_t part; (part = job.next.fetch_add(1)) < job.parts.size();) {
          const float* values = job.logits + part * kPart;
          const size_t count = std::min(kPart, job.vocabulary - part * kPart);
          job.parts[part] = {job.kernels.log_sum_exp(values, count), part * kPart + job.kernels.argmax(values, count)};
        }
      },
      &job);
  Summary whole = job.parts.front();
  if (job.parts.size() == 1) return whole;
  double top = -INFINITY;
  for (const Summary& part : job.parts) {
    top = std::fmax(top, static_cast<double>(part.log_sum_exp));
    // NaN never wins, as in a part.
    if (logits[part.best] > logits[whole.best] || std::isnan(logits[whole.best])) whole.best = part.best;
  }
  double total = 0;
  for (const Summary& part : job.parts) total += std::exp(static_cast<double>(part.log_sum_exp) - top);
  whole.log_sum_exp = static_cast<float>(top + std::log(total));
  return whole;
}

struct Candidate {
  uint32_t id;
  double weight;  // exp((logit - largest) / temperature)
};

// The candidates in falling order, as many as the filters leave.
std::vector<Candidate> candidates(const kernels::Dispatch& kernels, const float* logits, size_t vocabulary,
                                  float largest, const SampleRequest& request) {
  size_t limit = request.top_k == 0 ? vocabulary : std::min(request.top_k, vocabulary);
  const bool needs_total = request.top_p < 1 && limit == vocabulary;
  double total = 0;
  if (!std::isfinite(largest)) fail(Code::run_failed, "[sample] the logits are not finite");
  if (needs_total)
    for (size_t i = 0; i < vocabulary; i++)
      total += std::exp((static_cast<double>(logits[i]) - largest) / request.temperature);

  // Grow the sorted head until the filters are satisfied: nearly always the first 256 do.
  const double floor = request.min_p > 0 ? request.min_p : 0;
  std::vector<kernels::TopEntry> entries;
  std::vector<Candidate> result;
  for (size_t take = std::min<size_t>(limit, 256);; take = std::min(limit, take * 8)) {
    entries.resize(take);
    const size_t found = kernels.top_k(logits, vocabulary, entries.data(), take);
    result.clear();
    for (size_t i = 0; i < found; i++)
      result.push_back(
          {entries[i].index, std::exp((static_cast<double>(entries[i].value) - largest) / request.temperature)});
    if (result.empty()) fail(Code::run_failed, "[sample] the logits are not finite");
    const bool whole = take == limit || found < take;
    double sum = total;
    if (!needs_total) {
      if (!whole && request.top_p < 1) continue;
      sum = 0;
      for (const Candidate& candidate : result) sum += candidate.weight;
    }
    bool cut = false;
    if (request.top_p < 1) {
      double seen = 0;
      for (size_t i = 0; i < result.size(); i++) {
        seen += result[i].weight;
        if (seen < request.top_p * sum) continue;
        result.resize(i + 1);
        cut = true;
        break;
      }
    }
    // min-p: at least this share of the most probable one, whose weight is 1.
    if (floor > 0)
      for (size_t i = 1; i < result.size(); i++)
        if (result[i].weight < floor) {
          result.resize(i);
          cut = true;
          break;
        }
    if (cut || whole) return result;
  }
}

// The logits after biases and penalties: a copy in `work`, or themselves where nothing changes
// them.
const float* adjusted_logits(const float* logits, size_t vocabulary, const SampleRequest& request, Pages& work) {
  const auto biases = biased_tokens(request, vocabulary);
  const auto penalised = penalised_tokens(request, vocabulary);
  if (biases.empty() && penalised.empty()) return logits;
  work.reserve(vocabulary * sizeof(float));
  auto* copy = reinterpret_cast<float*>(work.data());
  std::memcpy(copy, logits, vocabulary * sizeof(float));
  for (const auto& [id, bias] : biases) copy[id] += bias;
  const auto penalty = static_cast<float>(request.repeat_penalty);
  for (const auto& [id, amount] : penalised) {
    float& logit = copy[id];
    logit = (logit > 0 ? logit / penalty : logit * penalty) - amount;
  }
  return copy;
}

}  // namespace

Sampled sample(const kernels::Dispatch& kernels, Pool& pool, size_t threads, const float* logits, size_t vocabulary,
               const SampleRequest& request, Pages& work) {
  const Summary summary = summarise(kernels, pool, threads, logits, vocabulary);
  const float normaliser = summary.log_sum_exp;
  Sampled result;
  const float* adjusted = adjusted_logits(logits, vocabulary, request, work);
  const size_t best = adjusted == logits ? summary.best : kernels.argmax(adjusted, vocabulary);
  if (request.temperature <= 0 || request.top_k == 1) {
    result.token.id = static_cast<uint32_t>(best);
  } else {
    const std::vector<Candidate> kept = candidates(kernels, adjusted, vocabulary, adjusted[best], request);
    double sum = 0;
    for (const Candidate& candidate : kept) sum += candidate.weight;
    const double mark = philox_uniform(request.seed, request.step) * sum;
    double seen = 0;
    result.token.id = kept.back().id;
    for (const Candidate& candidate : kept) {
      seen += candidate.weight;
      if (seen <= mark) continue;
      result.token.id = candidate.id;
      break;
    }
  }
  result.token.logprob = logits[result.token.id] - normaliser;
  if (request.alternatives > 0) {
    std::vector<kernels::TopEntry> entries(std::min(request.alternatives, vocabulary));
    const size_t found = kernels.top_k(logits, vocabulary, entries.data(), entries.size());
    for (size_t i = 0; i < found; i++) result.top.push_back({entries[i].index, entries[i].value - normaliser});
  }
  return result;
}

Scored score(const kernels::Dispatch& kernels, Pool& pool, size_t threads, const float* logits, size_t rows,
             size_t vocabulary, const ScoreRequest& request) {
  check_targets(request, rows, vocabulary);
  struct Job {
    const kernels::Dispatch& kernels;
    const float* logits;
    size_t rows, vocabulary;
    const ScoreRequest& request;
    Scored result;
    std::atomic<size_t> next{0};
  } job{kernels, logits, rows, vocabulary, request, {}, {}};
  job.result.logprobs.resize(rows);
  job.result.best.resize(rows);
  pool.run(
      threads,
      [](void* argument, size_t) {
        Job& job = *static_cast<Job*>(argument);
        for (size_t row; (row = job.next.fetch_add(1)) < job.rows;) {
          const float* values = job.logits + row * job.vocabulary;
          const int32_t target = job.request.targets[row];
          job.result.best[row] = static_cast<int32_t>(job.kernels.argmax(values, job.vocabulary));
          job.result.logprobs[row] = target < 0 ? 0 : values[target] - job.kernels.log_sum_exp(values, job.vocabulary);
        }
      },
      &job);
  return std::move(job.result);
}

}  // namespace rlx
