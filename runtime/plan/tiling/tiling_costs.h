// Results of evaluating tilings, for several searches in one graph and in other rewrites of it.
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

// Values that are evaluated once for each key. Any thread may call Of.
template <typename Value>
class KnownValues {
 public:
  Value Of(std::string key, absl::FunctionRef<Value()> evaluate) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (const auto known = values_.find(key); known != values_.end()) return known->second;
    }
    Value value = evaluate();
    const std::lock_guard<std::mutex> lock(mutex_);
    return values_.emplace(std::move(key), std::move(value)).first->second;
  }

 private:
  std::mutex mutex_;
  absl::flat_hash_map<std::string, Value> values_;
};

struct TilingCost {
  int64_t bytes = 0;  // peak
  double ms = 0;
  double extra_flops = 0;  // recomputed FLOPs
};

// Keys name a segment by the contents of its operators (SegmentKeys), and its tiles.
class TilingCosts {
 public:
  // nullopt: the graph has no such tiles. Rewriting a graph into tiles takes milliseconds.
  KnownValues<std::optional<TilingCost>> costs;
  // Arenas of single segments, bytes.
  KnownValues<int64_t> arenas;

  // Returns the number of a text, equal for equal texts.
  int NumberOf(std::string text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return numbers_.try_emplace(std::move(text), static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::mutex mutex_;
  absl::flat_hash_map<std::string, int> numbers_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_TILING_COSTS_H_
