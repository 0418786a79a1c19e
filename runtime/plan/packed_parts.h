// Weights that a file holds packed, used for plans other than the one they were packed for.
#ifndef ASHLAR_RUNTIME_PLAN_PACKED_PARTS_H_
#define ASHLAR_RUNTIME_PLAN_PACKED_PARTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/plan/packed_model.h"
#include "runtime/plan/plan_request.h"

namespace ashlar {

// Where a packed model has its weights, by id of the constant and layout: for plans that want
// them in another order, and perhaps not all.
class PackedPlaces {
 public:
  explicit PackedPlaces(const PackedModel& packed);
  // The place of an entry of the plan's weights; null where the model does not have it. The plan is
  // of the packed model's graph.
  const PackedWeight* Find(const PlannedGraph& planned, const WeightEntry& entry) const;

 private:
  const int64_t pool_bytes_;
  std::map<std::pair<int, std::string>, PackedWeight> places_;
};

// The recorded plan (Means::recorded) of a model that was packed whole, whose plan wants some
// weights in other layouts: the others are used where they lie (WeightEntry::packed).
// `graph` is the model's, with the data of its constants, before any pass. FailedPrecondition where
// the passes no longer make of it the graph that was packed, or CheckPackedFor says so; other
// errors are PlanRewrittenAsRecorded's.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithPackedParts(const PackedModel& packed,
                                                                  Graph graph,
                                                                  const PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_PACKED_PARTS_H_
