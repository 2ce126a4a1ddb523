// Requests to a session and its results: the same for every engine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dtype.h"
#include "sampling.h"

namespace rlx {

// An output copied out of a session.
struct Fetched {
  std::string name;
  DType dtype = DType::f32;
  std::vector<size_t> shape;
  std::vector<uint8_t> bytes;
};

// Draws several tokens in one run. The request's inputs are those of the first token. After each
// draw the engine writes the token into input `token` (one i32) and adds one to input `position`
// (one i32); sizes stay as they are. The series ends after `count` tokens, or after one of the
// `endings`.
struct Series {
  size_t count = 1;
  std::string token, position;
  std::vector<int32_t> endings;

  bool ends_with(int32_t drawn) const { return std::find(endings.begin(), endings.end(), drawn) != endings.end(); }
};

struct RunRequest {
  std::vector<std::pair<std::string, size_t>> symbols;
  std::vector<std::pair<std::string, std::vector<uint8_t>>> inputs;
  std::string follow;  // an input (one i32) that receives the last token of the previous run
  std::vector<std::string> fetch;
  std::string logits;  // output that sampling and scoring read: f32 [rows, vocabulary]
  std::optional<SampleRequest> sample;
  std::optional<Series> series;
  std::optional<ScoreRequest> score;
  bool profile = false;
};

struct Profile {
  std::vector<double> start;  // seconds since the run began, one per instruction
  std::vector<float> seconds;
  std::vector<double> traffic;  // bytes
  // Seconds that each thread worked on each instruction, thread after thread; what is missing from `seconds` it waited for
  // the others. Empty where the engine has no threads of its own.
  std::vector<float> busy;
};

struct RunResult {
  std::vector<Fetched> outputs;
  std::optional<Sampled> sampled;
  std::vector<Sampled> series;
  std::optional<Scored> scored;
  std::optional<Profile> profile;
  double seconds = 0;
  size_t together = 0;  // sessions in its largest joint step; 0 for a run that cannot be joined
};

}  // namespace rlx
