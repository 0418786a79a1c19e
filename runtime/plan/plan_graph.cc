#include "runtime/plan/plan_graph.h"

#include <chrono>
#include <utility>

#include "graph/status.h"
#include "runtime/plan/record/plan_as_recorded.h"
#include "runtime/plan/record/recorded_tiles.h"
#include "runtime/plan/stages/stages.h"
#include "runtime/plan/stages/stream_weights.h"
#include "runtime/plan/tiling/tiled_plan.h"
#include "runtime/plan/tiling/tiled_plans.h"
#include "runtime/plan/total_plan.h"
#include "runtime/plan/window_plan.h"

namespace ashlar {
namespace {

using Clock = std::chrono::steady_clock;

// Returns ResourceExhausted if the device has less memory in total than one session needs.
absl::Status CheckDeviceHolds(const PlannedGraph& planned) {
  const std::optional<MemoryState> memory = planned.device->memory();
  if (!memory.has_value()) return absl::OkStatus();
  const int64_t arena = planned.plan.plan.arena, weights = planned.weights.bytes;
  const int64_t state = planned.state.bytes;
  const int64_t tensors = planned.input_bytes() + planned.output_bytes();
  const int64_t needed = arena + weights + state + tensors;
  if (needed <= memory->total) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      planned.device->comp_node().ToString(), " has ", memory->total, " bytes, ", needed,
      " are needed: arena ", arena, ", weights ", weights,
      state > 0 ? absl::StrCat(", state ", state) : "", ", inputs and outputs ", tensors,
      weights + state + tensors < memory->total
          ? absl::StrCat("; in tiles, under a memory budget, the arena may have ",
                         memory->total - weights - state - tensors)
          : ""));
}

// Returns Unimplemented if inputs are to be donated on a device that copies them into its own
// memory.
absl::Status CheckReleases(const PlanTarget& target) {
  if (!target.release_input) return absl::OkStatus();
  ASHLAR_ASSIGN_OR_RETURN(const Device* const device, OpenDevice(target.comp_node));
  if (device->is_host()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("inputs cannot be donated to the arena of ", device->comp_node().ToString(),
                   ", which copies them into memory of its own: only on the CPU"));
}

// Finishes every plan: checks that the device can hold a session, stores the caller's request and
// the planning time, and plans the window of streamed weights.
absl::StatusOr<std::unique_ptr<PlannedGraph>> Checked(
    absl::StatusOr<std::unique_ptr<PlannedGraph>> planned, const PlanRequest& request,
    Clock::time_point start) {
  if (!planned.ok()) return planned;
  ASHLAR_RETURN_IF_ERROR(CheckDeviceHolds(**planned));
  (*planned)->request = request;
  // Plans as recorded have their window.
  if (!(*planned)->weights.window) ASHLAR_RETURN_IF_ERROR(StreamWeights(**planned));
  (*planned)->plan_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return planned;
}

}  // namespace

namespace {

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanAsAsked(Graph graph, const PlanRequest& request) {
  const Clock::time_point start = Clock::now();
  const auto& [target, planning, debug] = request;
  ASHLAR_RETURN_IF_ERROR(CheckReleases(target));
  if (planning.recorded != nullptr) {
    return Checked(PlanAsRecorded(std::move(graph), request), request, start);
  }
  if (target.total) return Checked(PlanWithinTotal(graph, request, PlanGraph), request, start);
  PlanRequest in_tiles = request;
  in_tiles.target.tiles = TilesOnRecord(graph, request);
  const bool on_record = !in_tiles.target.tiles.empty();
  const Graph given = target.budget ? graph : Graph();
  ASHLAR_ASSIGN_OR_RETURN(RewrittenGraph rewritten,
                          RewriteGraph(std::move(graph), target, planning,
                                       {target.tiled() || on_record, debug.measure_passes}));
  if (on_record) {
    // Tuned tiles only save time. If the graph cannot be tiled that way, as with a record from an
    // older version, it is planned untiled.
    auto planned = Checked(PlanTiled(rewritten, in_tiles), request, start);
    if (planned.ok()) {
      (*planned)->tiles_on_record = true;
      return planned;
    }
  }
  return Checked(target.budget ? PlanWithinBudget(given, rewritten, request)
                 : target.tiled()
                     ? PlanTiled(rewritten, request)
                     : PlanRewritten(std::move(rewritten), request, ArrangementOf(planning)),
                 request, start);
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanUnlessStopped(Graph graph,
                                                                const PlanRequest& request) {
  const bool streams = request.target.weights_budget && request.planning.recorded == nullptr &&
                       request.planning.panel_bytes == 0 && !request.target.total;
  if (!streams) return PlanAsAsked(std::move(graph), request);
  const Clock::time_point start = Clock::now();
  return Checked(PlanForWindow(graph, request, PlanAsAsked), request, start);
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanKernelsUnlessStopped(Graph rewritten,
                                                                       const ChosenKernels& kernels,
                                                                       const PlanRequest& request) {
  const Clock::time_point start = Clock::now();
  ASHLAR_RETURN_IF_ERROR(CheckReleases(request.target));
  if (request.planning.recorded != nullptr) {
    return Checked(PlaceAsRecorded({std::move(rewritten), {}}, request), request, start);
  }
  Arrangement arrangement = ArrangementOf(request.planning);
  arrangement.kernels = kernels;
  // The order of tiled nodes is the order in which they run.
  if (request.target.tiled()) {
    arrangement.order = Order::kAsGiven;
    arrangement.planner = PlannerFor(Thoroughness::kChosen, request.planning);
  }
  return Checked(PlanRewritten({std::move(rewritten), {}}, request, arrangement), request, start);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanGraph(Graph graph, const PlanRequest& request) {
  return memory::CancelledIfStopped([&] { return PlanUnlessStopped(std::move(graph), request); });
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithKernels(Graph rewritten,
                                                              const ChosenKernels& kernels,
                                                              const PlanRequest& request) {
  return memory::CancelledIfStopped(
      [&] { return PlanKernelsUnlessStopped(std::move(rewritten), kernels, request); });
}

}  // namespace ashlar
