// Results of evaluating tilings, for several searches in one graph and in other rewrites of it.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_TILING_COSTS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_TILING_COSTS_H_

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"

namespace ashlar {

struct TilingCost {
  int64_t bytes = 0;  // peak, or arena
  double ms = 0;
  double extra_flops = 0;  // recomputed FLOPs
};

// Returns recomputed FLOPs over all of the untiled graph. Differences of sums may be below 0.
inline double ExtraRatio(double extra_flops, double flops) {
  return flops > 0 ? std::max(0.0, extra_flops / flops) : 0;
}

// Costs by keys that name a segment by the contents of its operators (SegmentKeys) and its tiles:
// the graphs of all users are planned for one target, with the same options. Any thread may call
// its functions.
class TilingCosts {
 public:
  // Evaluates keys that are not known: rewriting a graph into tiles takes milliseconds. `evaluate`
  // returns nullopt if the graph has no such tiles. Threads that ask at the same time may evaluate
  // it twice.
  std::optional<TilingCost> Of(std::string key,
                               absl::FunctionRef<std::optional<TilingCost>()> evaluate) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (const auto known = costs_.find(key); known != costs_.end()) return known->second;
    }
    const std::optional<TilingCost> cost = evaluate();
    const std::lock_guard<std::mutex> lock(mutex_);
    costs_.emplace(std::move(key), cost);
    return cost;
  }
  // Returns the number of a text, equal for equal texts.
  int NumberOf(std::string text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return numbers_.try_emplace(std::move(text), static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::mutex mutex_;
  absl::flat_hash_map<std::string, std::optional<TilingCost>> costs_;
  absl::flat_hash_map<std::string, int> numbers_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_TILING_COSTS_H_
