// Prefetch trials of the products of one op: times the items of a trial and hands the op the
// setting to run with.
#pragma once

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include "prefetch_tuner.h"

namespace rlx {

// A product of packed weights with one token: `rows` rows of k weights, cut into items of `chunk`
// rows.
struct TunedProduct {
  kernels::Type type;
  size_t k, rows, chunk, first_item;
};

class ProductTrials {
 public:
  ProductTrials(const PrefetchTuner& tuner, std::span<const TunedProduct> products, size_t threads)
      : threads_(threads) {
    for (const TunedProduct& product : products) {
      PrefetchStatistics* const kind = tuner.of(product.type, product.k);
      if (kind == nullptr) continue;
      products_.push_back(product);
      trials_.insert(trials_.end(), threads, PrefetchTrial(*kind, kind->begins_with_other()));
    }
  }

  // The op is about to run on this thread.
  void begin(size_t thread) {
    for (size_t i = 0; i < products_.size(); i++) trials_[i * threads_ + thread].begin();
  }
  // Runs an item with the settings of its trial, which it puts into `tuning` for that time.
  template <class Run>
  void run(size_t thread, size_t item, kernels::Tuning& tuning, Run&& run) {
    for (size_t i = 0; i < products_.size(); i++) {
      const TunedProduct& product = products_[i];
      PrefetchTrial& trial = trials_[i * threads_ + thread];
      const size_t row = item < product.first_item ? product.rows : (item - product.first_item) * product.chunk;
      if (row >= product.rows || !trial.is_timed()) continue;
      const kernels::Prefetch before = tuning.prefetch(product.type, product.k);
      tuning.set_prefetch(product.type, product.k, trial.prefetch());
      const auto start = std::chrono::steady_clock::now();
      run();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      tuning.set_prefetch(product.type, product.k, before);
      trial.took(std::min(product.rows - row, product.chunk), taken.count());
      return;
    }
    run();
  }

 private:
  std::vector<TunedProduct> products_;
  std::vector<PrefetchTrial> trials_;  // [product][thread]
  size_t threads_;
};

}  // namespace rlx
