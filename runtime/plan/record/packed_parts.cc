#include "runtime/plan/record/packed_parts.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "graph/status.h"
#include "graph/stored_tensor.h"
#include "runtime/plan/record/packing_options.h"
#include "runtime/plan/record/plan_as_recorded.h"
#include "runtime/plan/stages/rewrite.h"

namespace ashlar {
namespace {

// Returns whether two graphs are equal node by node, ids and names included. Compares the types of
// constants, not their values.
bool AreAlike(const Graph& a, const Graph& b) {
  const auto same_node = [](const OperatorNode& x, const OperatorNode& y) {
    return x.id == y.id && x.name == y.name && x.op->type() == y.op->type() &&
           x.inputs == y.inputs && x.outputs == y.outputs &&
           (x.constant != nullptr || ToString(x.op->params()) == ToString(y.op->params()));
  };
  const auto same_var = [](const Var& x, const Var& y) {
    return x.id == y.id && x.name == y.name && x.type == y.type;
  };
  return std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(),
                    same_node) &&
         std::equal(a.vars().begin(), a.vars().end(), b.vars().begin(), b.vars().end(), same_var);
}

// Returns whether two constants have the same type and bytes.
bool AreEqual(const HostTensor& a, const HostTensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.quantization() == b.quantization() &&
         HaveSameBytes(a, b);
}

// Returns whether a graph has the operators of a packed one, which read the same weights. Shapes,
// and values that follow from them, may differ. `own` is the packed graph with its constants.
bool HasWeightsOf(const PackedModel& packed, const Graph& own, const Graph& graph) {
  absl::flat_hash_set<int> weights;
  for (const PackedWeight& weight : packed.weights) weights.insert(weight.var);
  const auto same_node = [&](const OperatorNode& x, const OperatorNode& y) {
    if (x.id != y.id || x.name != y.name || x.op->type() != y.op->type() || x.inputs != y.inputs ||
        x.outputs != y.outputs || (x.constant == nullptr) != (y.constant == nullptr)) {
      return false;
    }
    const bool weight = x.constant != nullptr && weights.contains(x.outputs[0]);
    return !weight || AreEqual(*x.constant, *y.constant);
  };
  return std::equal(own.nodes().begin(), own.nodes().end(), graph.nodes().begin(),
                    graph.nodes().end(), same_node);
}

absl::Status PackedForAnother() {
  return absl::FailedPreconditionError(
      "weights are packed for another graph than the passes of this version make of the model");
}

}  // namespace

PackedPlaces::PackedPlaces(const PackedModel& packed) : pool_bytes_(packed.pool_bytes) {
  for (const PackedWeight& weight : packed.weights) {
    if (weight.var >= 0) places_[{packed.graph.var(weight.var).id, weight.key}] = weight;
  }
}

const PackedWeight* PackedPlaces::Find(const PlannedGraph& planned,
                                       const WeightEntry& entry) const {
  const auto it = places_.find({planned.graph.var(entry.var).id, entry.key});
  if (it == places_.end()) return nullptr;
  const PackedWeight& weight = it->second;
  const bool holds = weight.bytes == entry.bytes && weight.offset >= 0 &&
                     weight.offset % planned.device->alignment() == 0 &&
                     weight.bytes <= pool_bytes_ && weight.offset <= pool_bytes_ - weight.bytes;
  return holds ? &weight : nullptr;
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithPackedParts(const PackedModel& packed,
                                                                  Graph graph,
                                                                  const PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(Device* const device, OpenDevice(request.target.comp_node));
  ASHLAR_RETURN_IF_ERROR(CheckPackedFor(packed, *device, request.target, request.planning));
  ASHLAR_ASSIGN_OR_RETURN(const PlanRequest options, ParsePackingOptions(packed.options));
  if (!options.target.tiles.empty()) {
    return absl::FailedPreconditionError("weights are packed in tiles, not whole");
  }
  ASHLAR_ASSIGN_OR_RETURN(RewrittenGraph rewritten,
                          RewriteGraph(std::move(graph), request.target, request.planning));
  if (!AreAlike(rewritten.graph, packed.graph)) return PackedForAnother();
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                          PlanRewrittenAsRecorded(std::move(rewritten), request));
  const PackedPlaces places(packed);
  for (WeightEntry& entry : planned->weights.entries) {
    const PackedWeight* const place = places.Find(*planned, entry);
    if (place == nullptr) continue;
    entry.packed = {packed.owner, static_cast<const char*>(packed.pool) + place->offset};
  }
  return planned;
}

absl::StatusOr<PackedModel> PackedAtShapes(PackedModel packed, Graph own, Graph graph) {
  ASHLAR_ASSIGN_OR_RETURN(const PlanRequest options, ParsePackingOptions(packed.options));
  const auto& [target, planning, debug] = options;
  if (!target.tiles.empty() || planning.group_bytes > 0) {
    return absl::FailedPreconditionError(
        "weights are packed in tiles or groups, which are for the shapes of the file");
  }
  const RewriteOptions as_packed = {.panels_as = &packed.graph};
  ASHLAR_ASSIGN_OR_RETURN(const RewrittenGraph there,
                          RewriteGraph(std::move(own), target, planning, as_packed));
  if (!AreAlike(there.graph, packed.graph)) return PackedForAnother();
  ASHLAR_ASSIGN_OR_RETURN(RewrittenGraph rewritten,
                          RewriteGraph(std::move(graph), target, planning, as_packed));
  if (!HasWeightsOf(packed, there.graph, rewritten.graph)) {
    return absl::FailedPreconditionError(
        "weights are packed for the shapes of the file; for others the passes make another graph");
  }
  packed.graph = std::move(rewritten.graph);
  packed.other_shapes = true;
  return packed;
}

}  // namespace ashlar
