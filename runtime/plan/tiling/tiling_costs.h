// Costs of tilings that were evaluated before, for several searches in one graph.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_TILING_COSTS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_TILING_COSTS_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"

namespace ashlar {

struct TilingCost {
  int64_t bytes = 0;  // peak
  double ms = 0;
  double extra_flops = 0;  // recomputed FLOPs, over all of the untiled graph
};

// Evaluates each tiling once: rewriting a graph into tiles takes milliseconds. Any thread may call
// Of.
class TilingCosts {
 public:
  // `key`: names the segment and its tiles. `evaluate` returns nullopt if the graph has no such
  // tiles.
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
  void Forget() {
    const std::lock_guard<std::mutex> lock(mutex_);
    costs_ = {};
  }

 private:
  std::mutex mutex_;
  absl::flat_hash_map<std::string, std::optional<TilingCost>> costs_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_TILING_COSTS_H_
