// Reads PyTorch's memory snapshots (torch.cuda.memory._dump_snapshot) as buffers with lifetimes: a
// plan then shows the memory that the same allocations need. Format: the comments of
// torch/cuda/memory.py on _snapshot: segments with their blocks, and for each device a trace of
// events.
#ifndef ASHLAR_SERIALIZATION_MEMORY_SNAPSHOT_H_
#define ASHLAR_SERIALIZATION_MEMORY_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "memory/csv.h"

namespace ashlar {

// The allocations of one device: the one that allocated most bytes at once. A step is an allocation
// or the end of one ("free_completed": only then the allocator uses the bytes again). Blocks from
// before the recorded history live from step 0; blocks that were never freed live to the end.
struct MemorySnapshot {
  memory::CsvProblem problem;  // names: the line of the program that allocated, if recorded
  int device = 0, devices = 0;
  int64_t steps = 0;
  int64_t allocated_bytes = 0;  // the most at once
  int64_t reserved_bytes = 0;   // the most that segments took at once
  // PyTorch's places of the buffers: without the gaps between its segments.
  std::vector<int64_t> offsets;
  int64_t span_bytes = 0;  // of offsets: all addresses that a segment ever had
};

// PyTorch's allocations begin at multiples of this. The least alignment of the buffers in bytes.
inline constexpr int64_t kSnapshotAlignment = 512;

// InvalidArgument names `name` and the place: the event, or the block of a segment.
absl::StatusOr<MemorySnapshot> ReadMemorySnapshot(absl::Span<const uint8_t> bytes,
                                                  const std::string& name, int64_t alignment = 1);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MEMORY_SNAPSHOT_H_
