#include "runtime/session/arena_memory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "runtime/device/borrowed_memory.h"

namespace ashlar {
namespace {

// Returns the number of bytes from an address to the next multiple of `alignment`.
int64_t BytesToMultiple(const void* address, int64_t alignment) {
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(address) %
                                         static_cast<uintptr_t>(alignment));
  return past == 0 ? 0 : alignment - past;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateArena(const PlannedGraph& planned,
                                                            int64_t slack) {
  const int64_t bytes = planned.plan.plan.arena + slack, alignment = planned.arena_alignment();
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> block, planned.device->Allocate(bytes));
  if (BytesToMultiple(block->data(), alignment) == 0) return block;
  block.reset();  // a device may lack the memory for both
  ASHLAR_ASSIGN_OR_RETURN(block, planned.device->Allocate(bytes + alignment - 1));
  const char* const begin = static_cast<const char*>(block->data());
  const char* const data = begin + BytesToMultiple(begin, alignment);
  return std::make_unique<BorrowedMemory>(std::shared_ptr<const void>(std::move(block)), data,
                                          bytes);
}

absl::Status CheckArenaAddress(const void* arena, int64_t alignment) {
  if (BytesToMultiple(arena, alignment) == 0) return absl::OkStatus();
  const auto address = reinterpret_cast<uintptr_t>(arena);
  return absl::InvalidArgumentError(
      absl::StrCat("arena is not at a multiple of ", alignment,
                   " bytes, the plan's arena_alignment; its address is a multiple of ",
                   address & (~address + 1)));
}

}  // namespace ashlar
