#include "library/pack_model.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/file_mapping.h"
#include "graph/needed_bytes.h"
#include "graph/status.h"
#include "library/plan_model.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/stages/memory_need.h"

namespace ashlar {
namespace {

using Planned = std::unique_ptr<PlannedGraph>;

// Windows that are tried beside an arena: the plan of each says what it takes besides.
constexpr int kTries = 6;
// Arenas that are tried if the usual one leaves no window: shares of what arena and window have.
constexpr double kArenas[] = {0.5, 0.33, 0.67};

// Returns the request that streams the weights which a plan streams, in its tiles.
PlanRequest SettledBy(const PlannedGraph& planned) {
  PlanRequest settled = planned.SettledRequest();
  settled.target.budget.reset();
  return settled;
}

// Finds plans that stream weights within a budget for the total.
class TotalPacker {
 public:
  TotalPacker(const Graph& graph, const PlanRequest& request)
      : graph_(graph), request_(request), total_(*request.target.total) {
    request_.target.total.reset();
  }

  // Returns the plan with the usual arena, or else with the first smaller one beside which a window
  // fits. ResourceExhausted with the least total that was found.
  absl::StatusOr<Planned> Plan() {
    ASHLAR_ASSIGN_OR_RETURN(const Planned whole, PlanGraph(graph_, request_));
    const MemoryNeed need = Need(*whole);
    planning_ = PlanningBytes(*whole, total_.process_bytes, 0, /*in_file=*/true);
    const int64_t rest = need.total() - need.planning - need.file - need.arena;
    absl::StatusOr<Planned> planned = Beside(rest + need.arena, request_);
    const bool search = request_.target.tiles.empty();
    for (size_t i = 0; i < std::size(kArenas) && search && !planned.ok(); ++i) {
      if (!absl::IsResourceExhausted(planned.status())) return planned;
      const auto left = static_cast<double>(std::max<int64_t>(total_.bytes - rest, 0));
      const auto arena = static_cast<int64_t>(kArenas[i] * left);
      if (arena <= 0 || arena >= need.arena) continue;
      PlanRequest tiled = request_;
      tiled.target.budget = MemoryBudget{arena};
      const absl::StatusOr<Planned> found = PlanGraph(graph_, tiled);
      if (absl::IsResourceExhausted(found.status())) continue;
      ASHLAR_RETURN_IF_ERROR(found.status());
      tiled = (*found)->SettledRequest();
      tiled.target.budget.reset();
      absl::StatusOr<Planned> smaller = Beside(rest + (*found)->plan.plan.arena, tiled);
      if (smaller.ok() || !absl::IsResourceExhausted(smaller.status())) return smaller;
    }
    if (planned.ok() || !absl::IsResourceExhausted(planned.status())) return planned;
    return DoesNotFit(absl::StrCat("; with streamed weights it takes at least ", least_), least_);
  }

 private:
  MemoryNeed Need(const PlannedGraph& planned) const {
    return NeedOf(planned, total_.process_bytes, /*in_file=*/true);
  }

  // Plans windows beside the `rest` of the process until one fits.
  absl::StatusOr<Planned> Beside(int64_t rest, const PlanRequest& asked) {
    int64_t window = std::max<int64_t>(total_.bytes - rest, 1);
    PlanRequest request = asked;
    bool chosen = false;  // panels and tiles, for a larger window
    for (int i = 0; i < kTries; ++i) {
      request.target.weights_budget = window;
      absl::StatusOr<Planned> planned = PlanGraph(graph_, request);
      if (const std::optional<int64_t> least = NeededBytes(planned.status())) {
        if (std::exchange(chosen, false)) {
          request = asked;
          continue;
        }
        if (rest + *least > total_.bytes) {
          least_ = std::min(least_, std::max(rest + *least, planning_));
          return planned.status();
        }
        window = *least;
        continue;
      }
      ASHLAR_RETURN_IF_ERROR(planned.status());
      const MemoryNeed need = Need(**planned);
      if (need.total() <= total_.bytes) return planned;
      least_ = std::min(least_, need.total());
      // A plan with more reads takes more memory, too.
      const int64_t left = total_.bytes - (need.total() - need.planning - need.weights);
      if (left <= 0 || left >= window) break;
      window = left;
      request = (*planned)->SettledRequest();
      request.target.budget.reset();
      chosen = true;
    }
    return DoesNotFit("", least_);
  }

  const Graph& graph_;
  PlanRequest request_;  // without the total
  const TotalBudget total_;
  int64_t planning_ = 0;  // bytes of planning, with the fewest operators
  int64_t least_ = std::numeric_limits<int64_t>::max();  // of the totals of plans that do not fit
};

// Returns the request by which weights are packed to be streamed within the total.
absl::StatusOr<PlanRequest> SettledForTotal(const Graph& graph, const PlanRequest& request,
                                            const NoteListener& note) {
  ASHLAR_ASSIGN_OR_RETURN(const Planned planned, TotalPacker(graph, request).Plan());
  const MemoryNeed need = NeedOf(*planned, request.target.total->process_bytes, /*in_file=*/true);
  if (note) {
    note(absl::StrCat("all weights do not fit the total budget: they are packed to be streamed, ",
                      "through a window of ", need.weights, " bytes; the total is ", need.total(),
                      " (", need.ToString(), ")"));
  }
  return SettledBy(*planned);
}

}  // namespace

absl::StatusOr<PackedModel> PackModel(Model& model, PlanRequest request, const NoteListener& note) {
  request.target.tuned_tiles = false;  // which are for a number of threads, and files for any
  ASHLAR_RETURN_IF_ERROR(UsePlainWeights(model));
  const bool has_window = request.target.weights_budget.has_value();
  if (has_window) {
    const absl::StatusOr<Planned> streamed = PlanGraph(model.graph, request);
    if (!streamed.ok()) return OfModel(model.file.name, streamed.status());
    request = SettledBy(**streamed);
    request.target.weights_budget.reset();
  }
  absl::StatusOr<Planned> planned = PlanGraph(model.graph, request);
  if (request.target.total && !has_window && absl::IsResourceExhausted(planned.status())) {
    absl::StatusOr<PlanRequest> settled = SettledForTotal(model.graph, request, note);
    if (const std::optional<int64_t> streamed = NeededBytes(settled.status())) {
      planned = DoesNotFit(absl::StrCat(planned.status().message(), settled.status().message()),
                           std::min(*streamed, NeededBytes(planned.status()).value_or(*streamed)));
    } else {
      ASHLAR_RETURN_IF_ERROR(settled.status());
      settled->target.weights_budget.reset();
      planned = PlanGraph(model.graph, *settled);
    }
  }
  if (!planned.ok()) return OfModel(model.file.name, planned.status());
  return Executable::ToPacked(*std::move(planned), LettingGoOf(model));
}

}  // namespace ashlar
