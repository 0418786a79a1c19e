// Uses the weights of a packed file for plans other than the one they were packed for.
#ifndef ASHLAR_RUNTIME_PLAN_RECORD_PACKED_PARTS_H_
#define ASHLAR_RUNTIME_PLAN_RECORD_PACKED_PARTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/plan/record/packed_model.h"
#include "runtime/plan/request/plan_request.h"

namespace ashlar {

// An index of a packed model's weights, by id of the constant and layout: for plans that need them
// in another order, or only some of them.
class PackedPlaces {
 public:
  explicit PackedPlaces(const PackedModel& packed);
  // Returns the packed weight of an entry of the plan's weights, or null if the model has none. The
  // plan is for the packed model's graph.
  const PackedWeight* Find(const PlannedGraph& planned, const WeightEntry& entry) const;

 private:
  const int64_t pool_bytes_;
  std::map<std::pair<int, std::string>, PackedWeight> places_;
};

// Makes the recorded plan (PlanningOptions::recorded) of a model that was packed untiled. The plan
// needs some weights in other layouts; all others are used directly from the file
// (WeightEntry::packed). `graph` is the model's, with the data of its constants, before any pass.
// FailedPrecondition if the passes no longer produce the packed graph, or if CheckPackedFor fails;
// other errors are PlanRewrittenAsRecorded's.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithPackedParts(const PackedModel& packed,
                                                                  Graph graph,
                                                                  const PlanRequest& request);

// Returns the packed model for inputs of other shapes. `own` is the model's graph with the shapes
// that it was packed for, `graph` with the others, both before any pass. FailedPrecondition if it
// was packed in tiles, or if the passes rewrite the graph in another way for the other shapes.
absl::StatusOr<PackedModel> PackedAtShapes(PackedModel packed, Graph own, Graph graph);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_RECORD_PACKED_PARTS_H_
