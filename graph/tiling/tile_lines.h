// Schedules rows in steps, each row computed once: the rows each operator adds in a step, and the
// rows it keeps for later steps (line buffers: Alwani et al. 2016, "Fused-Layer CNN Accelerators";
// the reuse model is theirs). A galloping search over an operator's input regions finds how many
// rows it can compute from the available ones.
#ifndef ASHLAR_GRAPH_TILING_TILE_LINES_H_
#define ASHLAR_GRAPH_TILING_TILE_LINES_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graph/tiling/region_builder.h"

namespace ashlar {

struct LineStep {
  absl::flat_hash_map<int, Range> made;  // by var: new rows
  absl::flat_hash_map<int, Range> keep;  // by var: rows that a later step reads
  std::vector<std::vector<int>>
      last_read;                    // by position among the nodes: vars that it is the last to read
  absl::flat_hash_set<int> unread;  // computed vars that nothing reads in this step
};

struct LineSchedule {
  std::vector<LineStep> steps;
};

// Schedules `count` steps. Each step reads an equal number of further rows of the var `input`, and
// Schedules at least `count` steps. Each of the first `count` reads an equal number of further rows
// of the var `input`. Every operator computes as many rows as it can, but in no step more than its
// rows divided by `count`: the padding at the end would let it compute several steps' rows in the
// last one. Further steps compute the rest. `total`: the wanted region of each var, all of them
// images.
absl::StatusOr<LineSchedule> ScheduleLines(RegionBuilder& builder, absl::Span<const int> nodes,
                                           int input, const Regions& total, int64_t count);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_TILE_LINES_H_
