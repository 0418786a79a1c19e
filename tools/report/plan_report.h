// The parts of the report of `plan`.
#ifndef ASHLAR_TOOLS_REPORT_PLAN_REPORT_H_
#define ASHLAR_TOOLS_REPORT_PLAN_REPORT_H_

#include <string>
#include <vector>

#include "runtime/plan/stages/planned_graph.h"
#include "tools/console.h"
#include "tools/model.h"
#include "tools/peak.h"
#include "tools/plan_picture.h"

namespace ashlar {

// Returns "arena 52183040 bytes, lower bound 52183040, optimal (...), planner dive".
std::string ArenaLine(const memory::PlanResult& result);

// Adds the same figures: arena_bytes, lower_bound_bytes, proven_bytes (no placement of these
// buffers has fewer), proof, planner.
void AddArena(const memory::PlanResult& result, Json& document);

// Returns the buffers of a model's plan.
PlannedBuffers BuffersOf(const PlannedGraph& planned, std::string title);

// Returns the offset and the lifetime of each chunk; null if there are too many for a document.
Json ChunksDocument(const PlannedBuffers& planned);

// Formats the bytes of each pool of the model and, on the host, all memory that a process takes for
// it.
std::string PoolTable(const std::string& path, const PlannedModel& made);

// Returns the same figures: total: {planned_bytes, parts: {...}, address_space_bytes}; null if the
// device's memory is not the host's.
Json TotalDocument(const MemoryNeed& need, int64_t addresses);

// Returns a line about the operator at the peak; empty if nothing runs.
std::string BottleneckLine(const PlannedGraph& planned, const PeakReport& peak);

// Says how many instructions a microcontroller is expected to take; "" for other devices.
std::string InstructionsLine(const PlannedGraph& planned);

// Returns a line about the number of kernels with workspace, and the one with the most; empty if
// there is none.
std::string WorkspaceLine(const PlannedGraph& planned);

// Returns the workspace of every kernel that has some: [{operator, kernel, bytes, offset}], with
// the offset in the arena. "kernel" is null if sizes were recorded.
Json WorkspaceDocument(const PlannedGraph& planned);

// Returns a line about the expected time and the operations of operators with weights, also those
// done twice; empty if no time is known.
std::string TimeLine(const PlannedGraph& planned);

// Returns a line about the number of kernels that round further than direct sums, and how far;
// empty if none does.
std::string RoundingLine(const PlannedGraph& planned);

// Returns the same: {kernels, factor}.
Json RoundingDocument(const PlannedGraph& planned);

// Returns a line about what --precision bf16 would bring on the plan's processor; empty for other
// devices and precisions, and for models without convolutions and matrix products of floats.
std::string BFloat16Line(const PlannedGraph& planned);

// Returns the same: {operators, tiles}; null where there is no line.
Json BFloat16Document(const PlannedGraph& planned);

// Formats the largest buffers that are live at the peak.
std::string PeakTable(const PlannedBuffers& planned);

// Formats the savings of each pass.
std::string PassTable(const std::vector<PassReport>& passes);

// Returns the measures taken for the budget, and the options that repeat them.
std::string TileLines(const PlannedGraph& planned);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_PLAN_REPORT_H_
