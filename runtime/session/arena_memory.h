// The memory of a session's arena.
#ifndef ASHLAR_RUNTIME_SESSION_ARENA_MEMORY_H_
#define ASHLAR_RUNTIME_SESSION_ARENA_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

// Allocates the plan's arena, and `slack` bytes after it, at a multiple of its alignment.
absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateArena(const PlannedGraph& planned,
                                                            int64_t slack = 0);

// Returns InvalidArgument if an arena does not begin at a multiple of the plan's alignment.
absl::Status CheckArenaAddress(const void* arena, int64_t alignment);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_ARENA_MEMORY_H_
