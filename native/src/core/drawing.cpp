#include "drawing.h"

#include <algorithm>
#include <utility>

#include "error.h"

namespace rlx {

Drawing::Drawing(const RunRequest& request, const std::vector<int32_t>& followed) {
  if (request.sample) sampling = *request.sample;
  if (!request.follow.empty()) sampling.add_recent(followed);
}

bool Drawing::take(const RunRequest& request, Sampled sampled) {
  const int32_t token = sampled.id();
  drawn.push_back(std::move(sampled));
  if (!request.series || drawn.size() == request.series->count || request.series->ends_with(token)) return true;
  sampling.add_recent({&token, 1});
  sampling.step++;
  return false;
}

std::vector<int32_t> Drawing::finish(const RunRequest& request, RunResult& result) {
  std::vector<int32_t> followed;
  if (!drawn.empty() && (!request.series || !request.series->ends_with(drawn.back().id())))
    for (const Sampled& sampled : drawn) followed.push_back(sampled.id());
  if (request.series)
    result.series = std::move(drawn);
  else if (!drawn.empty())
    result.sampled = std::move(drawn.front());
  return followed;
}

void check_series(const RunRequest& request) {
  if (!request.series) return;
  if (!request.sample || request.profile || request.score || !request.fetch.empty())
    fail(Code::input_argument, "[run] a series draws tokens, and gives nothing else");
  if (request.series->count == 0 || request.series->token == request.series->position)
    fail(Code::input_argument,
         "[run] a series: got %zu tokens for input %s, expected at least one, and another input for the position",
         request.series->count, request.series->token.c_str());
}

bool is_one_step(const RunRequest& request) {
  if (request.score || request.profile) return false;
  if (!request.sample && request.fetch.empty()) return false;
  return std::all_of(request.symbols.begin(), request.symbols.end(), [](const auto& size) { return size.second == 1; });
}

}  // namespace rlx
