// Schedules rows in steps: the rows each operator adds in a step, and the rows it keeps for later
// steps (line buffers: Alwani et al. 2016, "Fused-Layer CNN Accelerators"; the reuse and recompute
// models are theirs). A galloping search over an operator's input regions finds how many rows it
// can compute from the available ones. Each row is computed once, except of chosen operators, which
// keep none: a backward sweep over a step finds the rows of theirs that it reads. The same sweep
// serves operators whose inputs are much smaller, or stored whole: their rows are computed when
// they are read, and until then the inputs' rows wait.
#ifndef ASHLAR_GRAPH_TILING_TILE_LINES_H_
#define ASHLAR_GRAPH_TILING_TILE_LINES_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graph/tiling/region_builder.h"
#include "graph/tiling/tile_segment.h"

namespace ashlar {

struct LineStep {
  absl::flat_hash_map<int, Range> made;  // by var: new rows, or all rows that the step reads
  // By var that is computed strip by strip (TilingRules::JoinRows): the rows of its input. It is
  // made in the step that reads the last of them.
  absl::flat_hash_map<int, Range> joined;
  absl::flat_hash_map<int, Range> keep;  // by var: rows that a later step reads
  std::vector<std::vector<int>>
      last_read;                    // by position among the nodes: vars that it is the last to read
  absl::flat_hash_set<int> unread;  // computed vars that nothing reads in this step
};

struct LineSchedule {
  std::vector<LineStep> steps;
};

// Schedules at least `count` steps, the segment's number. Each of the first `count` reads an equal
// number of further rows of the segment's input, or an equal share of each of its inputs. Every
// operator computes as many rows as it can, but in no step more than its rows divided by `count`:
// the padding at the end would let it compute several steps' rows in the last one. Further steps
// compute the rest. `total`: the wanted region of each var, all of them images. Vars in
// `segment.again` keep no rows.
absl::StatusOr<LineSchedule> ScheduleLines(RegionBuilder& builder, const FoundSegment& segment,
                                           const Regions& total);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_TILE_LINES_H_
