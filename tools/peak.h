// The tensors that fill the arena at the step where it is fullest.
#ifndef ASHLAR_TOOLS_PEAK_H_
#define ASHLAR_TOOLS_PEAK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "memory/buffer.h"
#include "runtime/plan/planned_graph.h"

namespace ashlar {

// Buffers of the plan that are live at the bottleneck step, the largest first; a buffer inside of
// another live one is left out. Indices into the plan's problem.
std::vector<int> BuffersAtPeak(const memory::Problem& problem, int64_t step);

// For each buffer of the plan whether it is a workspace.
std::vector<bool> WorkspaceBuffers(const PlannedGraph& planned);

struct PeakReport {
  int bottleneck_node = -1;  // in the planned graph; -1 if nothing runs
  int64_t workspace_bytes = 0;
  // Outputs of operators that the rewrites added to move data: changes of format, kept rows.
  int64_t copies_bytes = 0;
};

// `first_added_id`: ids of nodes that the rewrites added start here (next_id() of the graph
// before).
PeakReport ExaminePeak(const PlannedGraph& planned, int first_added_id);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PEAK_H_
