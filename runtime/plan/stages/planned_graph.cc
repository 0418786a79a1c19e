#include "runtime/plan/stages/planned_graph.h"

#include <algorithm>

#include "graph/status.h"

namespace ashlar {
namespace {

int64_t SumOf(const Graph& graph, const std::vector<Binding>& bindings) {
  int64_t bytes = 0;
  for (const Binding& binding : bindings) bytes += graph.var(binding.var).type.bytes();
  return bytes;
}

// Returns the location of a var. A storage in the pool of weights has the location of entry `entry`
// (-1: none).
std::optional<Location> LocateIn(const PlannedGraph& planned, int var, int entry) {
  const VarView view = planned.model.views[var];
  if (view.storage < 0) return std::nullopt;
  const Storage& storage = planned.model.storages[view.storage];
  Location location{storage.pool, storage.binding, view.offset,
                    planned.graph.var(var).type.bytes()};
  if (storage.pool == Pool::kArena) {
    location.offset += planned.plan.plan.offsets[planned.lifetimes.storage_buffer[view.storage]];
  } else if (storage.pool == Pool::kWeights) {
    if (entry < 0) return std::nullopt;
    if (planned.weights.entries[entry].packed != nullptr) {
      location.binding = entry;
    } else {
      location.offset += planned.weights.offset(entry);
    }
  } else if (storage.pool == Pool::kState) {
    const StateEntry* const state = planned.state.Of(storage.owner);
    location.binding = static_cast<int>(state - planned.state.entries.data());
  }
  return location;
}

}  // namespace

PlanRequest PlannedGraph::SettledRequest() const {
  PlanRequest settled = {request.target, planning, request.debug};
  settled.target.tiles = tiles;
  settled.target.tuned_tiles = false;
  return settled;
}

absl::Status PlannedGraph::ready() const {
  ASHLAR_RETURN_IF_ERROR(device->ready());
  const Processor wanted = processor(), host = device->processor();
  if (!device->is_host() || host.Runs(wanted)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(device->comp_node().ToString(), ": the plan is for ", wanted.ToString(),
                   ", this processor is ", host.ToString(), ": it has no ",
                   wanted.instruction_set().ToString(), "; it can be planned for, not run"));
}

std::optional<Location> PlannedGraph::Locate(int var) const {
  int entry = -1;
  if (const int storage = model.views[var].storage;
      storage >= 0 && model.storages[storage].pool == Pool::kWeights) {
    const auto it =
        std::find_if(weights.entries.begin(), weights.entries.end(),
                     [&](const WeightEntry& e) { return e.var == model.storages[storage].owner; });
    if (it != weights.entries.end()) entry = static_cast<int>(it - weights.entries.begin());
  }
  return LocateIn(*this, var, entry);
}

std::optional<Location> PlannedGraph::LocateInput(int node, int input) const {
  const OperatorNode& reader = graph.node(node);
  if (reader.op->input_use(input) != InputUse::kDeviceValue) return std::nullopt;
  return LocateIn(*this, reader.inputs[input], weights.by_input[node][input]);
}

std::optional<Location> PlannedGraph::LocateOutput(int node, int output) const {
  const int var = graph.node(node).outputs[output];
  const int storage = model.views[var].storage;
  if (storage < 0) return std::nullopt;
  if (model.storages[storage].producer != node && !model.updated[var]) return std::nullopt;
  return Locate(var);
}

std::optional<Location> PlannedGraph::LocateWorkspace(int node) const {
  const int buffer = lifetimes.workspace_buffer[node];
  if (buffer < 0) return std::nullopt;
  return Location{Pool::kArena, -1, plan.plan.offsets[buffer], workspace[node]};
}

bool PlannedGraph::is_released(int input) const {
  const int storage = model.views[graph.inputs()[input].var].storage;
  return storage >= 0 && model.storages[storage].pool == Pool::kArena;
}

int64_t PlannedGraph::released_bytes() const {
  int64_t bytes = 0;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (is_released(static_cast<int>(i))) bytes += graph.var(graph.inputs()[i].var).type.bytes();
  }
  return bytes;
}

int64_t PlannedGraph::input_bytes() const {
  return SumOf(graph, graph.inputs()) - released_bytes();
}

int64_t PlannedGraph::output_bytes() const { return SumOf(graph, graph.outputs()); }

}  // namespace ashlar
