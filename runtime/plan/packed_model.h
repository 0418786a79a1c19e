// A model with its graph rewritten and its weights packed, which a file can hold so that loading
// does neither.
#ifndef ASHLAR_RUNTIME_PLAN_PACKED_MODEL_H_
#define ASHLAR_RUNTIME_PLAN_PACKED_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "runtime/plan/planned_graph.h"

namespace ashlar {

// A constant inside the pool of weights, in one layout.
struct PackedWeight {
  int var = 0;
  std::string key;     // Packing::key, or "" for row-major
  int64_t offset = 0;  // in the pool, bytes
  int64_t bytes = 0;
  friend bool operator==(const PackedWeight&, const PackedWeight&) = default;
};

struct PackedModel {
  std::string processor;             // the instruction set of the kernels that packed it
  std::string options;               // PackingOptions, as text
  Graph graph;                       // rewritten; constants that are in the pool only have no data
  std::vector<std::string> kernels;  // by node: KernelIdentity; "" where nothing runs
  std::vector<PackedWeight> weights;
  double extra_flops_ratio = 0;       // PlannedGraph
  std::shared_ptr<const void> owner;  // keeps the pool alive
  const void* pool = nullptr;         // starts at a multiple of the device's alignment
  int64_t pool_bytes = 0;
};

// The part of a request that decides how a graph is rewritten and which weights its kernels want:
// models packed under others cannot stand in for each other.
struct PackingOptions {
  std::string passes = "all";
  bool exact = false;
  bool least_memory = false;
  bool inplace = true;
  TileSpec tiles;
  DType precision = DType::kFloat32;
  // Which the tiles were found for. Whoever asks for tiles need not ask for it.
  std::optional<MemoryBudget> budget;

  static PackingOptions Of(const Wishes& wishes, const Means& means);
  // "layouts 2, passes all, prefer memory, tile 0-216:lines112". Parts that are left out are as
  // above.
  std::string ToString() const;
  // FailedPrecondition where it is the text of another version.
  static absl::StatusOr<PackingOptions> Parse(absl::string_view text);
};

// The weights of a plan, as PackedModel has them.
std::vector<PackedWeight> PackedWeightsOf(const WeightsPlan& plan);

// FailedPrecondition, naming the difference, where the model was packed for another processor or
// under other options, or where tiles are still to be found for a budget. A recorded plan may have
// tiles and kernels of its own of a model that was packed whole: then whoever takes the weights has
// to see whether they are there.
absl::Status CheckPackedFor(const PackedModel& packed, const Device& device, const Wishes& wishes,
                            const Means& means);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_PACKED_MODEL_H_
