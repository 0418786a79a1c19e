// PyTorch's memory snapshots for `ashlar plan`: the memory that a plan of the same
// allocations needs, beside the memory that PyTorch took.
#ifndef ASHLAR_TOOLS_REPORT_SNAPSHOT_VIEW_H_
#define ASHLAR_TOOLS_REPORT_SNAPSHOT_VIEW_H_

#include <string>

#include "absl/status/statusor.h"
#include "memory/planner.h"
#include "serialization/memory_snapshot.h"
#include "tools/json_output.h"
#include "viewer/viewed_plan.h"

namespace ashlar {

// Reads a file; its errors carry the exit code for rejected input.
absl::StatusOr<MemorySnapshot> LoadSnapshot(const std::string& path, int64_t alignment);

// Returns the lines that compare a plan with the snapshot.
std::string SnapshotLines(const MemorySnapshot& snapshot, const memory::PlanResult& planned);
Json SnapshotDocument(const MemorySnapshot& snapshot);

// Returns the buffers where PyTorch placed them.
ViewedPlan ViewOfSnapshot(const MemorySnapshot& snapshot, const memory::PlanResult& planned);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_SNAPSHOT_VIEW_H_
