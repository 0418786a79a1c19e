#include "tools/report/snapshot_view.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "serialization/mapped_file.h"
#include "tools/exit_code.h"
#include "tools/format.h"

namespace ashlar {

absl::StatusOr<MemorySnapshot> LoadSnapshot(const std::string& path, int64_t alignment) {
  absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::OpenLoaded(path);
  if (!file.ok()) return WithExitCode(file.status(), ExitCode::kRejectedInput);
  absl::StatusOr<MemorySnapshot> snapshot = ReadMemorySnapshot((*file)->bytes(), path, alignment);
  if (!snapshot.ok()) return WithExitCode(snapshot.status(), ExitCode::kRejectedInput);
  return snapshot;
}

std::string SnapshotLines(const MemorySnapshot& snapshot, const memory::PlanResult& planned) {
  std::string lines = absl::StrFormat("PyTorch: device %d", snapshot.device);
  if (snapshot.devices > 1) {
    absl::StrAppend(&lines, " of ", snapshot.devices, ", which allocates most");
  }
  absl::StrAppend(&lines, "; ", FormatBytes(snapshot.reserved_bytes), " reserved, at most ",
                  FormatBytes(snapshot.allocated_bytes), " of it allocated at once\n");
  if (snapshot.reserved_bytes > 0) {
    const double share =
        static_cast<double>(planned.plan.arena) / static_cast<double>(snapshot.reserved_bytes);
    absl::StrAppendFormat(&lines, "a plan takes %.3f of the reserved bytes\n", share);
  }
  if (snapshot.steps == 0) {
    absl::StrAppend(&lines,
                    "the snapshot has no history, so all its blocks live together: "
                    "torch.cuda.memory._record_memory_history() records it\n");
  }
  return lines;
}

Json SnapshotDocument(const MemorySnapshot& snapshot) {
  return {{"device", snapshot.device},
          {"devices", snapshot.devices},
          {"allocations", snapshot.steps},
          {"reserved_bytes", snapshot.reserved_bytes},
          {"allocated_bytes", snapshot.allocated_bytes}};
}

ViewedPlan ViewOfSnapshot(const MemorySnapshot& snapshot, const memory::PlanResult& planned) {
  ViewedPlan view =
      ViewOf(snapshot.problem.problem, planned, snapshot.problem.names, "as PyTorch placed them");
  view.offsets = snapshot.offsets;
  view.arena = snapshot.span_bytes;
  view.proof = memory::Proof::kNone;
  view.planner = "PyTorch's allocator";
  return view;
}

}  // namespace ashlar
