#include "graph/file_mapping.h"

#include <pthread.h>
#include <sched.h>
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

FileMapping* first = nullptr;
std::atomic_flag is_locked;

void LockList() {
  while (is_locked.test_and_set(std::memory_order_acquire)) sched_yield();
}
void UnlockList() { is_locked.clear(std::memory_order_release); }

// The lock of the list. No mutex, because a handler of signals takes it.
class ListLock {
 public:
  ListLock() { LockList(); }
  ~ListLock() { UnlockList(); }
  ListLock(const ListLock&) = delete;
  ListLock& operator=(const ListLock&) = delete;
};

}  // namespace

absl::Status DamagedFile(absl::Status status) {
  if (!status.ok()) status.SetPayload(kDamagedFile, absl::Cord());
  return status;
}

FileMapping::FileMapping(const void* data, int64_t bytes, std::string path)
    : data_(data), bytes_(bytes), path_(std::move(path)) {
  if (bytes == 0) return;
  // A fork has no thread that would release the lock of another one.
  static const int forks_unlocked = pthread_atfork(LockList, UnlockList, UnlockList);
  static_cast<void>(forks_unlocked);
  const ListLock lock;
  next_ = first;
  to_this_ = &first;
  if (next_ != nullptr) next_->to_this_ = &next_;
  first = this;
}

FileMapping::~FileMapping() {
  if (to_this_ == nullptr) return;
  {
    const ListLock lock;
    *to_this_ = next_;
    if (next_ != nullptr) next_->to_this_ = to_this_;
  }
  munmap(const_cast<void*>(data_), static_cast<size_t>(bytes_));
}

absl::Status FileMapping::Load(const void* data, int64_t bytes) const {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t at = reinterpret_cast<uintptr_t>(data), first = at / page * page;
  const uintptr_t end = at + static_cast<uintptr_t>(bytes);
  if (bytes <= 0 || madvise(reinterpret_cast<void*>(first), end - first, kPopulateRead) == 0 ||
      errno != EFAULT) {
    return absl::OkStatus();
  }
  return CannotRead(data, bytes);
}

absl::Status FileMapping::CannotRead(const void* data, int64_t bytes) const {
  return DamagedFile(absl::DataLossError(absl::StrCat(
      path_, ": ", bytes, " bytes at offset ",
      static_cast<const char*>(data) - static_cast<const char*>(data_),
      ": cannot be read: the disk reports an error, or the file was shortened while it was read")));
}

const FileMapping* FileMapping::Find(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const ListLock lock;
  const FileMapping* mapping = first;
  while (mapping != nullptr && at - reinterpret_cast<uintptr_t>(mapping->data_) >=
                                   static_cast<uintptr_t>(mapping->bytes_)) {
    mapping = mapping->next_;
  }
  return mapping;
}

absl::Status LoadIfMapped(const void* data, int64_t bytes) {
  const FileMapping* const mapping = FileMapping::Find(data);
  return mapping == nullptr ? absl::OkStatus() : mapping->Load(data, bytes);
}

}  // namespace ashlar
