#include "runtime/device/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "graph/host_memory.h"
#include "graph/region.h"
#include "graph/status.h"

namespace ashlar {

absl::StatusOr<std::unique_ptr<GuardedMemory>> GuardedMemory::Allocate(int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t usable = RoundUp(bytes, page);
  std::unique_ptr<GuardedMemory> memory(new GuardedMemory());
  void* mapping = mmap(nullptr, static_cast<size_t>(usable + page), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return NoHostMemory("memory with a guard page", bytes);
  }
  memory->mapping_ = mapping;
  memory->mapped_ = usable + page;
  memory->data_ = static_cast<char*>(mapping) + (usable - bytes);
  memory->bytes_ = bytes;
  if (mprotect(static_cast<char*>(mapping) + usable, static_cast<size_t>(page), PROT_NONE) != 0) {
    return absl::InternalError("no guard page to be had");
  }
  return memory;
}

GuardedMemory::~GuardedMemory() {
  if (mapping_ != nullptr) munmap(mapping_, static_cast<size_t>(mapped_));
}

absl::Status GuardedMemory::MakeReadOnly() {
  const int64_t page = sysconf(_SC_PAGESIZE);
  if (mprotect(mapping_, static_cast<size_t>(mapped_ - page), PROT_READ) != 0) {
    return absl::InternalError("memory cannot be made read-only");
  }
  return absl::OkStatus();
}

}  // namespace ashlar
