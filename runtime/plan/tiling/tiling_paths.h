// Paths: options one after the other, from one cut of a graph to another.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_TILING_PATHS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_TILING_PATHS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/plan/tiling/tiling_ways.h"

namespace ashlar {

using TilingPath = std::vector<const TilingWay*>;

// Returns the largest peak of a step.
int64_t PeakOf(const TilingPath& path);

// Paths between two cuts.
class TilingPaths {
 public:
  // `ways`: options between these cuts (TilingWays::Between, which owns them). No path recomputes
  // more than `max_extra_flops`.
  TilingPaths(size_t first, size_t last, std::vector<const TilingWay*> ways, double max_extra_flops)
      : first_(first), last_(last), ways_(std::move(ways)), max_extra_flops_(max_extra_flops) {}

  // Returns the path with the smallest peak, the fastest of equals; empty if there is none.
  TilingPath Smallest() const;
  // Returns the fastest path within each peak that a step can have, the smallest peak first.
  std::vector<TilingPath> Fastest() const;
  // Returns paths within the smallest peak `peak` that leave room beside it, so that a plan has
  // fewer gaps:
  // - the fastest with the fewest steps near the peak;
  // - paths with small steps (a norm of high order weighs the largest of them most);
  // - the path that recomputes least, whose strips save more rows but need less in between.
  // `slowest`: ms, more than any path takes. Some paths may be empty.
  std::vector<TilingPath> Roomy(int64_t peak, double slowest) const;

 private:
  // Returns the path with the least total cost whose steps need at most `budget` bytes each; empty
  // if there is none.
  TilingPath Cheapest(int64_t budget, absl::FunctionRef<double(const TilingWay&)> cost) const;
  // Returns the fastest path within that peak.
  TilingPath FastestWithin(int64_t budget) const;
  std::vector<int64_t> Budgets() const;

  const size_t first_, last_;
  const std::vector<const TilingWay*> ways_;
  const double max_extra_flops_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_TILING_PATHS_H_
