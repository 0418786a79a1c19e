// The report of `plan`, part by part.
#ifndef ASHLAR_TOOLS_PLAN_REPORT_H_
#define ASHLAR_TOOLS_PLAN_REPORT_H_

#include <string>
#include <vector>

#include "runtime/plan/planned_graph.h"
#include "tools/console.h"
#include "tools/model.h"
#include "tools/peak.h"
#include "tools/plan_picture.h"

namespace ashlar {

// "arena 52183040 bytes, lower bound 52183040, optimal (...), planner dive"
std::string ArenaLine(const memory::PlanResult& result);

// The same figures: arena_bytes, lower_bound_bytes, proven_bytes (no plan has fewer), proof,
// planner.
void AddArena(const memory::PlanResult& result, Json& document);

// The buffers of a model's plan.
PlannedBuffers BuffersOf(const PlannedGraph& planned, std::string title);

// Where each chunk lies, and when; null where there are too many for a document.
Json ChunksDocument(const PlannedBuffers& planned);

// The model, the bytes of each pool and, on the host, of all that a process takes for it.
std::string PoolTable(const std::string& path, const PlannedModel& made);

// The same figures: total: {planned_bytes, parts: {...}, address_space_bytes}; null where the
// device's memory is not the host's.
Json TotalDocument(const MemoryNeed& need, int64_t addresses);

// The operator at the peak; empty where nothing runs.
std::string BottleneckLine(const PlannedGraph& planned, const PeakReport& peak);

// How many kernels have workspace, and which has most of it; empty where none has.
std::string WorkspaceLine(const PlannedGraph& planned);

// The workspace of every kernel that has some: [{operator, kernel, bytes, offset}], the offset that
// in the arena; "kernel" is null where sizes are recorded ones.
Json WorkspaceDocument(const PlannedGraph& planned);

// How many kernels round further than direct sums, and how far; empty if none does.
std::string RoundingLine(const PlannedGraph& planned);

// The same: {kernels, factor}.
Json RoundingDocument(const PlannedGraph& planned);

// The largest buffers that live at the peak.
std::string PeakTable(const PlannedBuffers& planned);

// The savings of each pass.
std::string PassTable(const std::vector<PassReport>& passes);

// The measures taken for the budget, and the options that repeat them.
std::string TileLines(const PlannedGraph& planned);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PLAN_REPORT_H_
