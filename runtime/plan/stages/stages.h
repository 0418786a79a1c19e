// The stages of planning, each a function of its arguments alone, numbered as in
// docs/architecture.md:
//
//   3 rewrite            RewriteGraph       graph -> graph after the passes; for tiles also Tile
//   4 storage            BuildStorageModel  graph -> which tensors can share memory
//   5 kernels found      FindKernels        graph, storage -> candidates by node
//   6 order              ScheduleNodes      graph, storage, least workspaces -> comp_seq
//   7 kernels that fit   FitKernels         candidates, comp_seq -> kernel by node
//   8 addresses          PlanInOrder        comp_seq, workspaces -> offsets (and a better comp_seq)
//   9 weights, states    PlanWeights, PlanStates  kernels -> the pools of weights and of states
//
// PlanGraph and the other functions of plan_graph.h drive the stages, for untiled and tiled graphs.
// To meet a budget they run stages 4 to 9 for several tilings.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_STAGES_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_STAGES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "memory/planner.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/kernel_choice.h"
#include "runtime/plan/stages/planned_graph.h"
#include "runtime/plan/stages/rewrite.h"

namespace ashlar {

// The settings of stages 5, 6 and 8 that the driver chooses.
struct Arrangement {
  ChosenKernels kernels;  // KeepKernels; without identities: all candidates
  Order order = Order::kLeastPeak;
  memory::PlanOptions planner;
  bool exact_too = false;  // OrderedPlanOptions
};

// Returns the request's own settings.
Arrangement ArrangementOf(const PlanningOptions& planning);

// Stage 4: begins a plan of the rewritten graph with its device and storage; no other decision is
// made yet. `request` names the tiles of the graph, also if a search found them: then the driver
// puts the caller's request into the plan.
absl::StatusOr<std::unique_ptr<PlannedGraph>> BeginPlan(RewrittenGraph rewritten,
                                                        const PlanRequest& request);

// Runs stages 4 to 9. `arrangement` overrides settings of `request`.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanRewritten(RewrittenGraph rewritten,
                                                            const PlanRequest& request,
                                                            const Arrangement& arrangement);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_STAGES_H_
