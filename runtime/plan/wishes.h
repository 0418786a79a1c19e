// The wishes of planning's caller: where a model runs, how precisely, in how much memory.
#ifndef ASHLAR_RUNTIME_PLAN_WISHES_H_
#define ASHLAR_RUNTIME_PLAN_WISHES_H_

#include <cstdint>
#include <limits>
#include <optional>

#include "graph/comp_node.h"
#include "graph/dtype.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/device/processor.h"

namespace ashlar {

// A limit to the arena, for which a graph is tiled where it must be.
struct MemoryBudget {
  int64_t bytes = 0;  // 0: as few as can be
  // The share of the FLOPs of operators with weights that may be computed again, as a ratio.
  double max_extra_flops = std::numeric_limits<double>::infinity();
  // Where nothing fits, return the smallest plan.
  bool find_smallest = false;
};

// A limit to all that a process takes for a model while it loads and runs it (MemoryNeed), for
// which kernels with smaller weights are taken, and tiles, where it must be.
struct TotalBudget {
  int64_t bytes = 0;
  int64_t process_bytes = 0;  // MemoryNeed::process
  // Where nothing fits, return the plan that needs least.
  bool find_smallest = false;
};

struct Wishes {
  CompNode comp_node;
  // The processor of the kernels, on which the plan depends: equal requests give equal plans
  // on every machine. nullopt: the device's own.
  std::optional<Processor> processor;
  int threads = 1;
  DType precision = DType::kFloat32;  // Float16 or BFloat16: where PrecisionRule allows
  // The inputs are given up: they lie in the arena, where the caller writes them before a run, and
  // their rows die there as they are read.
  bool release_input = false;
  TileSpec tiles;
  bool tuned_tiles = false;            // in tiles that are on record, if any are (recorded_tiles.h)
  std::optional<MemoryBudget> budget;  // finds `tiles`
  std::optional<TotalBudget> total;    // finds `budget` and Means::most_weights
  // That reading the model took for a while, beside what is stated of planning: as MemoryNeed has
  // it, for `total` and for reports.
  int64_t reading_bytes = 0;

  bool tiled() const { return budget.has_value() || !tiles.empty(); }
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_WISHES_H_
