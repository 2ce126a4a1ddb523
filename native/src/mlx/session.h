// Models (plans bound to weights) and sessions. States are arrays that MLX updates in place; caches
// grow as they fill (session_states.cpp). Three ways to run: lazy (one evaluation), eager (one per
// call, so that each can be timed and a failing one is named), compiled (traced once per set of
// sizes, then replayed).
// Everything here, also destruction, happens on the engine's thread: MLX's streams and traces are
// bound to it.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "../core/drawing.h"
#include "calls.h"
#include "joint_body.h"
#include "run_outputs.h"

namespace rlx::gpu {

enum class Mode { lazy, eager, compiled };

struct HeldReport {
  std::string name;
  const char* type;
  std::string form;  // "affine 4 bits, groups of 32, scale and bias f32"
  size_t bytes;
  double largest, relative;
};

// What a step of a session begins with.
struct Leaves {
  std::vector<mx::array> arrays;  // inputs, then states
  std::vector<size_t> symbols, sizes;
  const std::atomic<bool>* cancel = nullptr;
};

// A plan with its weights in MLX's memory. They are read when the first run needs them.
class Model final : public Tracer {
 public:
  explicit Model(std::shared_ptr<Plan> plan) : plan_(std::move(plan)) {}

  const Plan& plan() const { return *plan_; }
  void load(const std::atomic<bool>& cancel);
  // INPUT_CHANGED when a weight file is not what it was when it was opened.
  void check_weights() const {
    if (plan_->weights) plan_->weights->check();
  }
  std::vector<HeldReport> report(const std::atomic<bool>& cancel);
  // Bytes of weights in MLX's memory; 0 until they are loaded.
  size_t bytes() const { return bytes_.load(); }
  size_t traces() const { return traces_.load(); }
  // Products with weights, so far, that took the rows of several sessions at once.
  size_t joined_products() const { return joined_products_.load(); }

  // Outputs and next states from inputs and states, unevaluated.
  using Replay = std::function<std::vector<mx::array>(const std::vector<mx::array>&)>;
  std::vector<mx::array> build(const Leaves& leaves) const;
  // The same by a kept trace. A plan with loops that no trace can hold has traces of its sub-graphs
  // instead.
  std::vector<mx::array> replay(const Leaves& leaves);
  // The same of several sessions in one walk (joint_body.h): a list for each. Those of the eager
  // mode are evaluated.
  std::vector<std::vector<mx::array>> together(std::span<const Leaves> leaves, Mode mode);
  std::vector<mx::array> replay(uint32_t body, const std::vector<Operand>& arguments,
                                const std::vector<size_t>& sizes) override;
  std::vector<Operand> operands(const std::vector<mx::array>& leaves) const;

 private:
  struct Trace {
    std::vector<size_t> symbols;
    Replay run;
  };
  std::vector<mx::array> replay_kept(std::list<Trace>& kept, size_t most, const std::vector<size_t>& symbols,
                                     Replay function, const std::vector<mx::array>& arrays);
  std::vector<std::vector<mx::array>> walk(std::span<const Leaves> leaves, JointWalk how) const;
  std::vector<std::vector<mx::array>> replay_together(std::span<const Leaves> leaves);
  std::shared_ptr<Plan> plan_;
  bool loaded_ = false;
  std::vector<Held> params_;
  std::vector<mx::array> constants_;
  std::list<Trace> kept_;        // most recently used first
  std::list<Trace> kept_joint_;  // of several sessions: their symbols one behind the other
  // Of sub-graphs, by graph, sizes and the packed weights that the trace holds.
  std::map<std::tuple<uint32_t, std::vector<size_t>, std::vector<const Held*>>, Replay> bodies_;
  std::atomic<size_t> bytes_{0};
  std::atomic<size_t> traces_{0};
  mutable std::atomic<size_t> joined_products_{0};
};

class Session {
 public:
  Session(std::shared_ptr<Model> model, Mode mode, std::vector<std::pair<std::string, size_t>> symbols);

  RunResult run(const RunRequest& request, const std::atomic<bool>& cancel);
  // As run, but keeps the fetched outputs in memory that the next such run uses again; read_slot
  // copies them out. The result has the rest: seconds, the drawn token.
  RunResult run_slots(const RunRequest& request, const std::atomic<bool>& cancel);
  // From any thread. The target has the output's size.
  void read_slot(const std::string& name, uint8_t* target, size_t size) const;
  // Gives a run to the device without waiting: the result is empty. The next run may follow at
  // once.
  RunResult commit(const RunRequest& request, const std::atomic<bool>& cancel);
  // Waits for all committed runs; gives the outputs of the last one.
  RunResult sync();
  std::shared_ptr<Session> fork() const;
  std::vector<uint8_t> save(size_t positions) const;
  void restore(size_t positions, const uint8_t* bytes, size_t size);
  void reset();
  // From any thread: bytes of the states as they are, and of the part that `positions` take.
  size_t state_bytes() const { return state_bytes_.load(); }
  // With the memory that outputs of run_slots are kept in.
  size_t reserved_bytes() const { return state_bytes_.load() + slot_bytes_.load(); }
  size_t state_bytes(size_t positions) const;

  // A run in parts, as core/joint.h has it: begin, then steps, and after each take, until that
  // answers true; then end.
  Drawing begin(const RunRequest& request, const std::atomic<bool>& cancel);
  bool take(const RunRequest& request, Drawing& drawing, Sampled sampled);
  void end(const RunRequest& request, Drawing drawing, RunResult& result);
  // A step in parts, of one session or of several at once (joint.h): leaves, the results that
  // are made of them, adopt, the evaluation of what that gives, and settle, which gives the token
  // that the run drew, if it draws. If the evaluation fails, the states are lost.
  Leaves leaves(const std::atomic<bool>& cancel);
  std::vector<mx::array> results(const Leaves& leaves, Profile* profile) const;
  std::vector<mx::array> adopt(const RunRequest& request, const SampleRequest& sampling,
                               const std::vector<mx::array>& results);
  Sampled settle(const RunRequest& request);
  // True if steps of the two may be joint: the same plan, run alike.
  bool joins(const Session& other) const { return model_ == other.model_ && mode_ == other.mode_; }
  Model& model() const { return *model_; }
  Mode mode() const { return mode_; }

 private:
  struct Committed {
    RunRequest request;
    double began = 0;
  };

  Drawing run_step(const RunRequest& request, const std::atomic<bool>& cancel, RunResult& result, bool waits);
  void finish(const RunRequest& request, Drawing drawing, std::vector<Fetched>& outputs, RunResult& result);
  std::vector<size_t> symbols_for(const RunRequest& request) const;
  size_t input(const std::string& name) const;
  int32_t* integer_input(const std::string& name);
  void bind_inputs(const RunRequest& request, const std::vector<int32_t>& followed);
  void check_inputs() const;
  void make_room(std::vector<size_t>& symbols);
  void set_length(size_t length);
  size_t state_bytes_at(const std::vector<size_t>& symbols) const;
  mx::array zero_state(size_t index, const std::vector<size_t>& sizes) const;
  std::vector<mx::array> run_eagerly(const Leaves& leaves, Profile* profile) const;
  static size_t rows_held(const StatePlan& state, size_t positions, size_t rows);
  mx::array up_to(const mx::array& state, size_t index, size_t positions) const;

  std::shared_ptr<Model> model_;
  Mode mode_;
  std::vector<std::pair<std::string, size_t>> options_;
  std::vector<size_t> symbols_;                   // of the open call: sizes that states have at most
  std::optional<std::vector<mx::array>> states_;  // none before the first run
  bool lost_ = false;                             // an evaluation failed after it had taken the states
  size_t length_ = 0;                             // of growing caches, now
  std::atomic<size_t> state_bytes_{0};
  std::vector<int32_t> drawn_;  // by the last run, if it drew and ended well
  // Of the current run.
  std::vector<std::vector<uint8_t>> given_;  // bytes of each input
  std::vector<size_t> run_symbols_;
  std::optional<RunOutputs> outputs_;   // of its last step
  std::optional<Committed> committed_;  // the last run that was not waited for
  mutable std::mutex slots_mutex_;
  std::vector<Fetched> slots_;
  std::atomic<size_t> slot_bytes_{0};
};

}  // namespace rlx::gpu
