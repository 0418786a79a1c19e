// Lists the tensors that fill the arena at its peak.
#ifndef ASHLAR_TOOLS_PEAK_H_
#define ASHLAR_TOOLS_PEAK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "memory/problem/buffer.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

// Returns the buffers that are live at the bottleneck step, the largest first, as indices into the
// plan's problem. A buffer inside another live buffer is left out.
std::vector<int> BuffersAtPeak(const memory::Problem& problem, int64_t step);

// Returns for each buffer of the plan whether it is a workspace.
std::vector<bool> WorkspaceBuffers(const PlannedGraph& planned);

struct PeakReport {
  int bottleneck_node = -1;  // in the planned graph; -1 if nothing runs
  int64_t workspace_bytes = 0;
  // Outputs of operators that rewrites added to move data: format conversions, saved rows.
  int64_t copies_bytes = 0;
};

// Examines the peak of a plan. `first_added_id`: the ids of nodes added by rewrites begin here
// (next_id() of the graph before).
PeakReport ExaminePeak(const PlannedGraph& planned, int first_added_id);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PEAK_H_
