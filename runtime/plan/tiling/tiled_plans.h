// Plans of the tilings of one graph, for searches among them.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_TILED_PLANS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_TILED_PLANS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/planned_graph.h"
#include "runtime/plan/stages/rewrite.h"
#include "runtime/plan/tiling/least_tilings.h"
#include "runtime/plan/tiling/tiling_search.h"
#include "runtime/schedule/scheduler.h"

namespace ashlar {

// A payload of errors that say that a graph cannot be tiled as requested.
inline constexpr char kNoSuchTiles[] = "ashlar/no_such_tiles";

// Returns the order of the untiled graph, which tiles follow.
absl::StatusOr<Schedule> OrderOf(const Graph& graph, const PlanTarget& target,
                                 const PlanningOptions& planning);

// A tiled graph, and the computation that the tiles add.
struct TiledGraph {
  RewrittenGraph rewritten;
  double extra_flops = 0;  // recomputed FLOPs, over all of the untiled graph
};

// Tiles a graph. `order` is the untiled graph's. `spec` must not be empty.
absl::StatusOr<TiledGraph> TileRewritten(const RewrittenGraph& rewritten, const Schedule& order,
                                         const TileSpec& spec);

// How much work the search for addresses of one plan may do.
enum class Thoroughness {
  kLook,       // a fraction
  kCandidate,  // one of many candidates: as much as requested
  kChosen,     // a plan that may be returned: several times as much
};

memory::PlanOptions PlannerFor(Thoroughness thorough, const PlanningOptions& planning);

// Plans a tiled graph, in the order of its tiles. `spec`: the tiles.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanTiles(TiledGraph tiled, const TileSpec& spec,
                                                        PlanRequest request, Thoroughness thorough);

// Plans of tilings of one graph, made on request. Equal candidates give equal plans: whether a plan
// fits a budget does not depend on the budget.
class TiledPlans {
 public:
  // Both references must outlive it. `other`: plans of the same graph rewritten in another way, for
  // a request that differs in its passes and its groups of channels alone; both know what either
  // evaluates.
  static absl::StatusOr<std::unique_ptr<TiledPlans>> Create(const RewrittenGraph& rewritten,
                                                            const PlanRequest& request,
                                                            const TiledPlans* other = nullptr);

  // Returns the tilings within a limit of operations of which none is both slower and larger than
  // another. The first call for a limit searches.
  const FoundTilings& tilings(double max_extra_flops);
  const FoundTilings& tilings() { return tilings(max_extra_flops()); }
  // The search for the smallest tilings with a multiple of the usual work.
  LeastTilings& least_tilings(int64_t multiple);
  // A lower bound for plans of the untiled graph, bytes; 0 if none is known.
  int64_t untiled_bound() const { return order_.bound_bytes; }
  int operators() const { return CountOperators(rewritten_.graph); }
  // Returns the expected time of the untiled graph, in its formats.
  double EstimateUntiled() const;
  // The largest ratio of FLOPs that a tiling may recompute.
  double max_extra_flops() const {
    return request_.target.budget ? request_.target.budget->max_extra_flops
                                  : std::numeric_limits<double>::infinity();
  }
  // The values of `low_workspace` (low workspace) to try for each tiling; only true if low
  // workspace is requested.
  std::vector<bool> kinds() const {
    return request_.planning.kernels.low_workspace ? std::vector{true} : std::vector{false, true};
  }

  // The work for a plan: as requested; and the same, but no more than by default.
  int64_t requested_work() const { return request_.planning.planner.limits.work; }
  int64_t usual_work() const { return std::min(requested_work(), memory::SearchLimits().work); }

  // A candidate plan.
  struct Candidate {
    const Tiling* tiling;
    bool low_workspace;  // low workspace: kernels that need little instead of the fastest
    Thoroughness thorough = Thoroughness::kCandidate;
    int64_t multiple = 1;  // of the usual work
  };
  // Calls function(i) for each i of [0, count), in parallel if the device can plan in several
  // threads.
  void ForEach(size_t count, absl::FunctionRef<void(size_t)> function) const;
  // Evaluates the candidates, in parallel if the device can plan in several threads. A plan is null
  // if the graph cannot be tiled that way: a segment may compute too little for its tiles if the
  // following segment does not read all of it.
  absl::StatusOr<std::vector<std::unique_ptr<PlannedGraph>>> Plan(
      const std::vector<Candidate>& candidates);
  // Plans the untiled graph.
  absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanUntiled(bool low_workspace) const {
    const Tiling untiled;
    return Evaluate({&untiled, low_workspace});
  }

 private:
  TiledPlans(const RewrittenGraph& rewritten, const PlanRequest& request, Device& device,
             Schedule order, const TiledPlans* other);

  TilingProblem Problem(double max_extra_flops);
  // Caches the tiled graphs of these tilings only, as far as they exist: they are large.
  absl::Status TileAs(const std::vector<Candidate>& candidates);
  absl::StatusOr<std::unique_ptr<PlannedGraph>> Evaluate(const Candidate& candidate) const;

  const RewrittenGraph& rewritten_;
  const PlanRequest& request_;
  const Device& device_;
  const Schedule order_;
  const ArenaModel arena_;
  const std::shared_ptr<TilingCosts> costs_;
  std::map<double, TilingSearch> searches_;             // by the limit of operations
  std::map<int64_t, LeastTilings> least_;               // by the multiple of work
  absl::flat_hash_map<std::string, TiledGraph> tiled_;  // of the last candidates, by tiles
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_TILED_PLANS_H_
