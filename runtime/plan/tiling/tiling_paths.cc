// Dynamic programming over the cuts (shortest paths in an acyclic graph), once for each budget. The
// results are the Pareto front of peak and time.
#include "runtime/plan/tiling/tiling_paths.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace ashlar {
namespace {

constexpr double kNormOrders[] = {8, 2};
constexpr double kLittle = 1e-6;
constexpr double kNearPeak = 0.95;

}  // namespace

int64_t PeakOf(const TilingPath& path) {
  int64_t bytes = 0;
  for (const TilingWay* way : path) bytes = std::max(bytes, way->bytes);
  return bytes;
}

TilingPath TilingPaths::Cheapest(int64_t budget,
                                 absl::FunctionRef<double(const TilingWay&)> cost) const {
  struct Step {
    const TilingWay* way = nullptr;
    double cost = 0, extra_flops = 0;
    bool reached = false;
  };
  std::vector<Step> steps(last_ + 1);
  steps[first_].reached = true;
  for (const TilingWay* const way : ways_) {
    const Step& before = steps[way->begin];
    Step& step = steps[way->end];
    if (way->bytes > budget || !before.reached) continue;
    const double sum = before.cost + cost(*way);
    const double extra_flops = before.extra_flops + way->extra_flops;
    if ((step.reached && step.cost <= sum) || extra_flops > max_extra_flops_) continue;
    step = {way, sum, extra_flops, true};
  }
  TilingPath path;
  if (!steps[last_].reached) return path;
  for (size_t j = last_; j > first_; j = path.back()->begin) path.push_back(steps[j].way);
  std::reverse(path.begin(), path.end());
  return path;
}

TilingPath TilingPaths::FastestWithin(int64_t budget) const {
  return Cheapest(budget, [](const TilingWay& way) { return way.ms; });
}

std::vector<int64_t> TilingPaths::Budgets() const {
  std::set<int64_t> budgets;
  for (const TilingWay* const way : ways_) budgets.insert(way->bytes);
  return {budgets.begin(), budgets.end()};
}

TilingPath TilingPaths::Smallest() const {
  for (const int64_t budget : Budgets()) {
    TilingPath path = FastestWithin(budget);
    if (!path.empty()) return path;
  }
  return {};
}

std::vector<TilingPath> TilingPaths::Fastest() const {
  std::vector<TilingPath> paths;
  for (const int64_t budget : Budgets()) {
    if (!paths.empty() && budget <= PeakOf(paths.back())) continue;
    TilingPath path = FastestWithin(budget);
    if (!path.empty()) paths.push_back(std::move(path));
  }
  return paths;
}

std::vector<TilingPath> TilingPaths::Roomy(int64_t peak, double slowest) const {
  const auto share = [&](const TilingWay& way) {
    return static_cast<double>(way.bytes) / static_cast<double>(std::max<int64_t>(1, peak));
  };
  std::vector<TilingPath> paths = {Cheapest(
      peak, [&](const TilingWay& way) { return way.ms + (share(way) > kNearPeak ? slowest : 0); })};
  for (const double order : kNormOrders) {
    paths.push_back(
        Cheapest(peak, [&](const TilingWay& way) { return std::pow(share(way), order); }));
  }
  paths.push_back(
      Cheapest(peak, [&](const TilingWay& way) { return way.extra_flops + kLittle * share(way); }));
  return paths;
}

}  // namespace ashlar
