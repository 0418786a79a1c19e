#include "graph/file_mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace ashlar {
namespace {

constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, which older headers do not have

// The list has a fixed size and no lock, because a handler of signals reads it. Files beyond its
// end are mapped, but not known.
struct Slot {
  std::atomic<const char*> path = nullptr;  // null: free
  std::atomic<uintptr_t> begin = 0, end = 0;
  bool Holds(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    return at >= begin && at < end;
  }
};
constexpr int kSlots = 256;
Slot slots[kSlots];

absl::Status Load(const char* path, uintptr_t begin, const void* data, int64_t bytes) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t at = reinterpret_cast<uintptr_t>(data), first = at / page * page;
  const uintptr_t end = at + static_cast<uintptr_t>(bytes);
  if (bytes <= 0 || madvise(reinterpret_cast<void*>(first), end - first, kPopulateRead) == 0 ||
      errno != EFAULT) {
    return absl::OkStatus();
  }
  absl::Status status = absl::DataLossError(absl::StrCat(
      path, ": ", bytes, " bytes at offset ", at - begin,
      ": cannot be read: the disk reports an error, or the file was shortened while it was read"));
  status.SetPayload(kDamagedFile, absl::Cord());
  return status;
}

}  // namespace

FileMapping::FileMapping(const void* data, int64_t bytes, std::string path)
    : data_(data), bytes_(bytes), path_(std::move(path)) {
  for (int i = 0; i < kSlots && slot_ < 0 && bytes > 0; ++i) {
    const char* free = nullptr;
    if (!slots[i].path.compare_exchange_strong(free, path_.c_str())) continue;
    slots[i].begin = reinterpret_cast<uintptr_t>(data);
    slots[i].end = reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(bytes);
    slot_ = i;
  }
}

FileMapping::~FileMapping() {
  if (slot_ >= 0) {
    slots[slot_].end = 0;
    slots[slot_].begin = 0;
    slots[slot_].path = nullptr;
  }
  if (bytes_ > 0) munmap(const_cast<void*>(data_), static_cast<size_t>(bytes_));
}

absl::Status FileMapping::Load(const void* data, int64_t bytes) const {
  return ashlar::Load(path_.c_str(), reinterpret_cast<uintptr_t>(data_), data, bytes);
}

absl::Status LoadIfMapped(const void* data, int64_t bytes) {
  for (const Slot& slot : slots) {
    if (const char* const path = slot.path; path != nullptr && slot.Holds(data)) {
      return Load(path, slot.begin, data, bytes);
    }
  }
  return absl::OkStatus();
}

const char* PathMappedAt(const void* address) {
  for (const Slot& slot : slots) {
    if (const char* const path = slot.path; path != nullptr && slot.Holds(address)) return path;
  }
  return nullptr;
}

}  // namespace ashlar
