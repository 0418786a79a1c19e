// Rows in steps, each computed once: which rows every operator adds in a step, and which ones it
// keeps for the next (line buffers: Alwani et al. 2016, "Fused-Layer CNN Accelerators", whose reuse
// model it is). How far an operator gets with the rows at hand is found by galloping search in what
// it says of regions.
#ifndef ASHLAR_GRAPH_TILING_TILE_LINES_H_
#define ASHLAR_GRAPH_TILING_TILE_LINES_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graph/tiling/region_builder.h"

namespace ashlar {

struct LineStep {
  absl::flat_hash_map<int, Range> made;     // by var: rows that are new
  absl::flat_hash_map<int, Range> keep;     // by var: rows that a later step reads
  std::vector<std::vector<int>> last_read;  // by position among the nodes: vars it reads last
  absl::flat_hash_set<int> unread;          // vars made that nothing reads in this step
};

struct LineSchedule {
  std::vector<LineStep> steps;
};

// In each of `count` steps as many more rows of the var `input` are read, and every operator makes
// what can be made of them. `total`: the wanted region of each var, all of them images.
absl::StatusOr<LineSchedule> ScheduleLines(RegionBuilder& builder, absl::Span<const int> nodes,
                                           int input, const Regions& total, int64_t count);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_TILE_LINES_H_
