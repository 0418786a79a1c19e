// The target of a plan: device, precision, and memory limits.
#ifndef ASHLAR_RUNTIME_PLAN_REQUEST_PLAN_TARGET_H_
#define ASHLAR_RUNTIME_PLAN_REQUEST_PLAN_TARGET_H_

#include <cstdint>
#include <limits>
#include <optional>

#include "graph/comp_node.h"
#include "graph/dtype.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/device/device.h"

namespace ashlar {

// A limit on the arena. The graph is tiled if necessary.
struct MemoryBudget {
  int64_t bytes = 0;  // 0: as few as possible
  // The largest ratio of FLOPs of operators with weights that may be recomputed.
  double max_extra_flops = std::numeric_limits<double>::infinity();
  // If nothing fits, return the smallest plan.
  bool find_smallest = false;
};

// A limit on all memory of a process while it loads and runs a model (MemoryNeed). Kernels with
// smaller weights and tiles are used if necessary.
struct TotalBudget {
  int64_t bytes = 0;
  int64_t process_bytes = 0;  // MemoryNeed::process
  // If nothing fits, return the plan that needs least.
  bool find_smallest = false;
};

// The target of a plan.
struct PlanTarget {
  CompNode comp_node;
  // The processor that the plan and its kernels are for: equal requests give equal plans on every
  // machine. nullopt: the device's own.
  std::optional<Processor> processor;
  int threads = 1;
  DType precision = DType::kFloat32;  // Float16 or BFloat16: for operators that PrecisionRule
                                      // allows
  // Inputs are donated: the caller writes them into the arena before a run, and their rows are
  // freed after they are read.
  bool release_input = false;
  TileSpec tiles;
  bool tuned_tiles = false;            // use tuned tiles, if there are any (recorded_tiles.h)
  std::optional<MemoryBudget> budget;  // finds `tiles`
  std::optional<TotalBudget> total;    // finds `budget` and PlanningOptions::most_weights
  // Bytes of memory for the weights, which are streamed from a packed file (WeightWindow).
  std::optional<int64_t> weights_budget;
  // Peak bytes used while reading the model, in addition to planning (MemoryNeed): for `total` and
  // for reports.
  int64_t reading_bytes = 0;

  // Returns the processor that kernels on a device are for.
  Processor ProcessorOn(const Device& device) const {
    return processor.value_or(device.processor());
  }
  bool tiled() const { return budget.has_value() || !tiles.empty(); }
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_REQUEST_PLAN_TARGET_H_
