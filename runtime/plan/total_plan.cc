// Tries to save memory in the order of the expected cost in time:
// 1. nothing;
// 2. smaller weights, the cheapest first;
// 3. tiles with the fastest kernels;
// 4. tiles with the smallest weights, which then may grow into the bytes that the tiles leave.
#include "runtime/plan/total_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/needed_bytes.h"
#include "graph/status.h"
#include "runtime/plan/stages/memory_need.h"
#include "runtime/plan/stages/weight_limit.h"
#include "runtime/plan/tiling/tiled_plan.h"

namespace ashlar {
namespace {

// If a plan is this near to the fastest, tiles are not searched for.
constexpr double kFastEnough = 1.05;
// Limit on attempts to meet a limit of weights. Weights that no kernel packs are known only after
// planning, so planning is repeated with them counted.
constexpr int kTries = 3;

using Planned = std::unique_ptr<PlannedGraph>;

// Returns the bytes of the weights that a plan reads, each once, packed or as the graph has it,
// whichever is smaller.
int64_t LeastWeights(const PlannedGraph& planned) {
  absl::flat_hash_map<int, int64_t> bytes;  // by constant
  for (const WeightEntry& entry : planned.weights.entries) {
    const int64_t raw = planned.graph.var(entry.var).type.bytes();
    const auto [least, first] = bytes.try_emplace(entry.var, raw);
    least->second = std::min(least->second, entry.bytes);
  }
  int64_t sum = 0;
  for (const auto& [var, least] : bytes) sum += least;
  return sum;
}

class TotalPlanner {
 public:
  TotalPlanner(const Graph& graph, const PlanRequest& request, PlanFunction plan)
      : graph_(graph), request_(request), total_(*request.target.total), plan_(plan) {
    request_.target.total.reset();
    request_.target.tuned_tiles = false;
  }

  absl::StatusOr<Planned> Plan() {
    ASHLAR_ASSIGN_OR_RETURN(Planned asked, Make(request_));
    if (Fits(*asked)) return asked;
    const double enough = kFastEnough * Time(*asked);
    ASHLAR_RETURN_IF_ERROR(TryLimited(request_, *asked));
    if (fastest_ != nullptr && (Time(*fastest_) <= enough || !MaySearch())) {
      return std::move(fastest_);
    }
    PlanRequest low_workspace = request_;
    low_workspace.planning.kernels.low_workspace = true;
    ASHLAR_ASSIGN_OR_RETURN(Planned least, Make(low_workspace));
    const int64_t fast_weights = asked->weights.memory_bytes();
    const int64_t least_weights = least->weights.memory_bytes();
    const int64_t least_total = LeastTotal(*least, total_.process_bytes);
    Consider(std::move(asked));
    Consider(std::move(least));
    if (fastest_ == nullptr && least_total > total_.bytes) return Impossible(least_total);
    if (fastest_ != nullptr && !MaySearch()) return std::move(fastest_);
    const bool search = request_.target.tiles.empty();
    if (search) {
      searched_ = kSearches;
      ASHLAR_RETURN_IF_ERROR(TryTiled(request_, fast_weights));
      ASHLAR_RETURN_IF_ERROR(TryTiled(low_workspace, least_weights));
      if (fastest_ == nullptr) ASHLAR_RETURN_IF_ERROR(TryAll(low_workspace));
    }
    if (fastest_ != nullptr) return Anew(std::move(fastest_), search ? kSearches : 0);
    if (total_.find_smallest) return std::move(smallest_);
    const MemoryNeed need = NeedOf(*smallest_, total_.process_bytes);
    return DoesNotFit(absl::StrCat("no plan fits the total budget of ", total_.bytes,
                                   " bytes; the smallest total that was found is ", need.total(),
                                   ": ", need.ToString()),
                      need.total());
  }

 private:
  absl::StatusOr<Planned> Make(const PlanRequest& request) const {
    return plan_(Graph(graph_), request);
  }

  // Plans the result of a search again, without the search: so the heap that the search leaves
  // unused is not between the parts of the plan, and can return to the system.
  absl::StatusOr<Planned> Anew(Planned found, int searched) const {
    PlanRequest request = request_;
    request.target.tiles = found->tiles;
    request.planning.passes = found->planning.passes;
    request.planning.kernels = found->planning.kernels;
    request.planning.most_weights = found->planning.most_weights;
    found.reset();
    ASHLAR_ASSIGN_OR_RETURN(Planned planned, Make(request));
    planned->searched = searched;
    return planned;
  }

  // Returns the result for a budget that no tiles can meet, so none are searched for.
  absl::StatusOr<Planned> Impossible(int64_t least_total) {
    if (total_.find_smallest) return std::move(smallest_);
    const MemoryNeed need = NeedOf(*smallest_, total_.process_bytes);
    return DoesNotFit(
        absl::StrCat("no plan fits the total budget of ", total_.bytes,
                     " bytes: the process, weights, inputs and outputs take at least ", least_total,
                     "; the smallest total that was found is ", need.total(), ": ",
                     need.ToString()),
        need.total());
  }

  // Returns whether a search stays within the budget, when a plan was found without one.
  bool MaySearch() const {
    return PlanningBytes(*fastest_, total_.process_bytes, kSearches) <= total_.bytes;
  }

  int64_t Need(const PlannedGraph& planned) const {
    return NeedOf(planned, total_.process_bytes).total();
  }
  bool Fits(const PlannedGraph& planned) const { return Need(planned) <= total_.bytes; }
  double Time(const PlannedGraph& planned) const {
    return EstimateTime(planned.graph, planned.model,
                        SpeedOf(*planned.device, planned.request.target, planned.planning),
                        planned.kernels);
  }

  // Keeps a plan if it is the fastest that fits, or the smallest of all.
  void Consider(Planned planned) {
    if (planned == nullptr) return;
    planned->searched = std::max(planned->searched, searched_);
    if (Fits(*planned)) {
      if (fastest_ == nullptr || Time(*planned) < Time(*fastest_)) fastest_ = std::move(planned);
    } else if (smallest_ == nullptr || Need(*planned) < Need(*smallest_)) {
      smallest_ = std::move(planned);
    }
  }

  // Tries the same plan with weights as large as the budget leaves for them.
  absl::Status TryLimited(PlanRequest request, const PlannedGraph& like) {
    int64_t most = total_.bytes - (Need(like) - like.weights.memory_bytes());
    for (int i = 0; i < kTries && most > 0; ++i) {
      request.planning.most_weights = most;
      ASHLAR_ASSIGN_OR_RETURN(Planned planned, Make(request));
      const int64_t excess = Need(*planned) - total_.bytes;
      Consider(std::move(planned));
      if (excess <= 0) break;
      most -= excess;
    }
    return absl::OkStatus();
  }

  // Tries the fastest tiles whose arena fits beside `weights` bytes.
  absl::Status TryTiled(PlanRequest request, int64_t weights) {
    const PlannedGraph& any = *smallest_;
    const int64_t arena =
        total_.bytes - total_.process_bytes - any.input_bytes() - any.output_bytes() - weights;
    if (arena <= 0) return absl::OkStatus();
    request.target.budget = MemoryBudget{arena};
    absl::StatusOr<Planned> tiled = Make(request);
    if (absl::IsResourceExhausted(tiled.status())) return absl::OkStatus();
    ASHLAR_RETURN_IF_ERROR(tiled.status());
    (*tiled)->request = request_;  // the arena's budget was this search's own
    PlanRequest larger = request_;
    larger.target.tiles = (*tiled)->tiles;
    larger.planning.passes = (*tiled)->planning.passes;
    if (request.planning.kernels.low_workspace && !request_.planning.kernels.low_workspace) {
      ASHLAR_RETURN_IF_ERROR(TryLimited(larger, **tiled));
    }
    Consider(*std::move(tiled));
    return absl::OkStatus();
  }

  // Tries tiles of all sizes: the smallest arena has the most operators, which take memory, too.
  absl::Status TryAll(const PlanRequest& request) {
    ASHLAR_ASSIGN_OR_RETURN(std::vector<Planned> plans, PlanFrontier(Graph(graph_), request));
    for (Planned& planned : plans) Consider(std::move(planned));
    return absl::OkStatus();
  }

  static constexpr int kSearches = 1;  // that may follow

  const Graph& graph_;
  PlanRequest request_;  // without the total
  const TotalBudget total_;
  const PlanFunction plan_;
  int searched_ = 0;            // searches before the plans that are considered now
  Planned fastest_, smallest_;  // the fastest that fits; the smallest of all others
};

}  // namespace

int64_t LeastTotal(const PlannedGraph& planned, int64_t process_bytes) {
  return process_bytes + planned.input_bytes() + planned.output_bytes() + planned.state.bytes +
         planned.released_bytes() + LeastWeights(planned);
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithinTotal(const Graph& graph,
                                                              const PlanRequest& request,
                                                              PlanFunction plan) {
  return TotalPlanner(graph, request, plan).Plan();
}

}  // namespace ashlar
