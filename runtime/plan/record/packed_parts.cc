#include "runtime/plan/record/packed_parts.h"

#include <algorithm>

#include "graph/status.h"
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
  if (!AreAlike(rewritten.graph, packed.graph)) {
    return absl::FailedPreconditionError(
        "weights are packed for another graph than the passes of this version make of the model");
  }
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

}  // namespace ashlar
