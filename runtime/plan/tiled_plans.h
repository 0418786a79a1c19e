// Plans of tilings of one graph, for those who look for one among them.
#ifndef ASHLAR_RUNTIME_PLAN_TILED_PLANS_H_
#define ASHLAR_RUNTIME_PLAN_TILED_PLANS_H_

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/plan/plan_request.h"
#include "runtime/plan/planned_graph.h"
#include "runtime/plan/rewrite.h"
#include "runtime/plan/tiling_search.h"
#include "runtime/schedule/scheduler.h"

namespace ashlar {

// The order of the graph as it is, which tiles follow.
absl::StatusOr<Schedule> OrderOf(const Graph& graph, const Wishes& wishes, const Means& means);

// A graph in tiles, and what they cost.
struct TiledGraph {
  RewrittenGraph rewritten;
  double extra_flops = 0;  // computed again, over all of the graph before
};

// `order` is of the graph before. Not for an empty spec.
absl::StatusOr<TiledGraph> TileRewritten(const RewrittenGraph& rewritten, const Schedule& order,
                                         const TileSpec& spec);

// How much the search for addresses of one plan may cost.
enum class Thoroughness {
  kCandidate,  // one of many: as much as is asked for
  kChosen,     // one that is wanted for what it is: a multiple of it
};

memory::PlanOptions PlannerFor(Thoroughness thorough, const Means& means);

// In the order in which the tiles stand. `spec`: theirs.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanTiles(TiledGraph tiled, const TileSpec& spec,
                                                        PlanRequest request, Thoroughness thorough);

// Plans of tilings of one graph, made when they are asked for. Equal questions have equal answers:
// what fits a budget does not depend on the budget.
class TiledPlans {
 public:
  // Both arguments must outlive it.
  static absl::StatusOr<std::unique_ptr<TiledPlans>> Create(const RewrittenGraph& rewritten,
                                                            const PlanRequest& request);

  const FoundTilings& tilings() const { return search_.found(); }
  // The same, and what is found between all cuts for the smallest plan alone (FoundTilings::moved).
  const FoundTilings& smaller_tilings();
  // Those of a search for the smallest plan alone, in which lines may ebb. Searched for by the
  // first call.
  const FoundTilings& ebbing_tilings();
  // Of the graph as it is, at least 1.
  size_t operators() const {
    return static_cast<size_t>(std::max(1, CountOperators(rewritten_.graph)));
  }
  // No plan of the graph as it is needs less, bytes; 0 where nothing is known.
  int64_t untiled_bound() const { return order_.bound_bytes; }
  // Of a tiling: what it may compute again at most, as a ratio.
  double max_extra_flops() const {
    return request_.wishes.budget ? request_.wishes.budget->max_extra_flops
                                  : std::numeric_limits<double>::infinity();
  }
  // The kinds of plans of one tiling, as arguments `sparing`: one where sparing kernels are asked
  // for.
  std::vector<bool> kinds() const {
    return request_.means.kernels.least_memory ? std::vector{true} : std::vector{false, true};
  }

  struct Question {
    const Tiling* tiling;
    bool sparing;  // with the kernels that need little workspace instead of the fastest
    Thoroughness thorough = Thoroughness::kCandidate;
  };
  // At once where the device lets planning go on in several threads; null where the graph does not
  // have the tiles: what is made of a segment may be too little for them where the one behind it
  // does not need all.
  absl::StatusOr<std::vector<std::unique_ptr<PlannedGraph>>> Plan(
      const std::vector<Question>& questions);
  // What makes one part of a split batch, without its tiles; InvalidArgument where that is no graph
  // by itself.
  absl::StatusOr<RewrittenGraph> PartOf(const TileSegment& batch) const;
  const PlanRequest& request() const { return request_; }
  // Gives up what answers to further questions of the same tilings would be made of: it is large.
  void Forget() {
    tiled_.clear();
    ebbing_.reset();
  }
  // The graph as it is.
  absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanUntiled(bool sparing) const {
    const Tiling untiled;
    return Answer({&untiled, sparing});
  }

 private:
  TiledPlans(const RewrittenGraph& rewritten, const PlanRequest& request, Device& device,
             Schedule order);

  TilingProblem Problem() const;
  void ForEach(size_t count, absl::FunctionRef<void(size_t)> function) const;
  // Keeps the graphs in these tiles, where they can be had, and no others: they are large.
  absl::Status TileAs(const std::vector<const Tiling*>& tilings);
  absl::StatusOr<std::unique_ptr<PlannedGraph>> Answer(const Question& question) const;

  const RewrittenGraph& rewritten_;
  const PlanRequest& request_;
  const Device& device_;
  const Schedule order_;
  const ArenaModel arena_;
  TilingSearch search_;
  bool looked_for_smaller_ = false;
  std::optional<TilingSearch> ebbing_;
  absl::flat_hash_map<const Tiling*, TiledGraph> tiled_;  // by tilings of the last questions
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILED_PLANS_H_
