#include "runtime/measure/autotune.h"

#include <memory>
#include <utility>

#include "graph/status.h"
#include "runtime/device/device.h"
#include "runtime/measure/tune_device.h"
#include "runtime/measure/tune_host.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/stages/kernel_choice.h"

namespace ashlar {

absl::StatusOr<Tuning> Autotune(const Graph& graph, PlanRequest request, const TuneOptions& tune,
                                KernelRecord& record) {
  auto& [target, planning, debug] = request;
  ASHLAR_ASSIGN_OR_RETURN(Device* const device, OpenDevice(target.comp_node));
  planning.record = nullptr;
  // Planning prepares a library's kernels: on devices, only the kernels of a pass are prepared.
  planning.kernels.all_candidates = device->is_host();
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<PlannedGraph> planned, PlanGraph(graph, request));
  const Graph& rewritten = planned->graph;
  // The passes have run: their result is planned anew for each trial. Tiles follow each other in
  // its order, and are not split again.
  planning.passes = "none";
  if (target.tiled()) planning.order = Order::kAsGiven;
  target.tiles = TileSpec();
  target.tuned_tiles = false;
  target.budget.reset();
  KernelPolicy all = planning.kernels;
  all.all_candidates = true;
  ASHLAR_ASSIGN_OR_RETURN(const KernelCandidates candidates,
                          FindKernels(rewritten, planned->model, *planned->device, target, all));
  // On the host, families stay, so that results do not depend on the number of threads; on devices
  // all are tried.
  const KernelRecord none;
  TunedProblems found = FindTunedProblems(rewritten, KernelKeys(rewritten, planned->model, all),
                                          candidates, device->is_host() ? record : none);
  Tuning tuning;
  if (device->is_host()) {
    ASHLAR_ASSIGN_OR_RETURN(tuning.ratio, TuneOnHost(rewritten, request, tune, found, record));
  } else {
    ASHLAR_ASSIGN_OR_RETURN(tuning.ratio,
                            TuneOnDevice(rewritten, request, candidates, tune, found, record));
  }
  tuning.problems = std::move(found.problems);
  return tuning;
}

}  // namespace ashlar
