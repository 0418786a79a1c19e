// Ways one after the other, from one cut of a graph to another.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_PATHS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_PATHS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/plan/tiling_ways.h"

namespace ashlar {

using TilingPath = std::vector<const TilingWay*>;

// Of the step that needs most.
int64_t PeakOf(const TilingPath& path);

// Paths between two cuts.
class TilingPaths {
 public:
  // `ways`: between the cuts (TilingWays::Between), whose they remain. No path computes more
  // again than `max_extra_flops`.
  TilingPaths(size_t first, size_t last, std::vector<const TilingWay*> ways, double max_extra_flops)
      : first_(first), last_(last), ways_(std::move(ways)), max_extra_flops_(max_extra_flops) {}

  // With the smallest peak, the fastest of these; empty where there is none.
  TilingPath Smallest() const;
  // The fastest within each peak that some step can have, the smallest first.
  std::vector<TilingPath> Fastest() const;
  // Within the smallest peak `peak`, those that leave room beside it, where a plan has fewer gaps:
  // the fastest with the fewest steps near the peak, those whose steps are small (a norm of high
  // order weighs the largest of them most), and the one that computes least again, whose strips
  // keep more but hold less in between. `slowest`: more ms than any takes. Some may be empty.
  std::vector<TilingPath> Roomy(int64_t peak, double slowest) const;

 private:
  // The one whose steps cost least in all, each of them no more than `budget` bytes; empty where
  // there is none.
  TilingPath Cheapest(int64_t budget, absl::FunctionRef<double(const TilingWay&)> cost) const;
  // Within that peak.
  TilingPath FastestWithin(int64_t budget) const;
  std::vector<int64_t> Budgets() const;

  const size_t first_, last_;
  const std::vector<const TilingWay*> ways_;
  const double max_extra_flops_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_PATHS_H_
