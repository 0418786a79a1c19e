// A model with its graph rewritten and its weights packed. A file can hold it, so that loading does
// neither.
#ifndef ASHLAR_RUNTIME_PLAN_RECORD_PACKED_MODEL_H_
#define ASHLAR_RUNTIME_PLAN_RECORD_PACKED_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "runtime/plan/record/weight_source.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

// A constant in the pool of weights, in one layout.
struct PackedWeight {
  int var = 0;
  std::string key;     // Packing::key, or "" for row-major
  int64_t offset = 0;  // in the pool, bytes
  int64_t bytes = 0;
  friend bool operator==(const PackedWeight&, const PackedWeight&) = default;
};

// Called after bytes of a model's weights were read for the last time, so that pages of a file can
// leave memory.
using DoneWith = std::function<void(const void* data, int64_t bytes)>;

// Receives the bytes of a packed weight at an offset of the pool; they are valid during the call.
using TakePacked = absl::FunctionRef<absl::Status(int64_t offset, const void* data, int64_t bytes)>;

struct PackedModel {
  std::string processor;             // the instruction set of the kernels that packed it
  std::string options;               // PackingOptionsText
  bool other_shapes = false;         // PackedAtShapes
  Graph graph;                       // rewritten; constants that are only in the pool have no data
  std::vector<std::string> kernels;  // by node: KernelIdentity; "" if no kernel runs
  std::vector<PackedWeight> weights;
  double extra_flops_ratio = 0;       // PlannedGraph
  std::shared_ptr<const void> owner;  // keeps the pool alive
  const void* pool = nullptr;         // starts at a multiple of the device's alignment
  // If the pool is not in memory (null): packs the weights one by one, in the order of their
  // offsets. Bytes between them are zero. Can be called several times.
  std::function<absl::Status(TakePacked take)> pack;
  int64_t pool_bytes = 0;
  // Opens the pool's file, for streaming; empty: there is none.
  std::function<absl::StatusOr<std::shared_ptr<const WeightSource>>()> open_pool;
};

// Converts the weights of a plan to entries of a PackedModel.
std::vector<PackedWeight> PackedWeightsOf(const WeightsPlan& plan);

// Returns FailedPrecondition, naming the difference, if the model was packed for another processor
// or with other options. The same if tiles must still be found for a budget. A recorded plan may
// have tiles and kernels of its own, although the model was packed untiled: then the caller checks
// that the packed weights match.
absl::Status CheckPackedFor(const PackedModel& packed, const Device& device,
                            const PlanTarget& target, const PlanningOptions& planning);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_RECORD_PACKED_MODEL_H_
