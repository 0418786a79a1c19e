#include "runtime/cuda/toolkit/pinned_memory.h"

#include <iterator>

#include "runtime/cuda/toolkit/errors.h"

namespace ashlar::cuda {
namespace {

// Whether others have pinned the memory, checked at its first and last byte.
bool IsPinnedByOthers(const char* data, int64_t bytes) {
  for (const char* const byte : {data, data + bytes - 1}) {
    cudaPointerAttributes attributes = {};
    if (cudaPointerGetAttributes(&attributes, byte) != cudaSuccess ||
        attributes.type != cudaMemoryTypeHost) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
  }
  return true;
}

}  // namespace

absl::Status PinnedMemory::Pin(void* data, int64_t bytes) {
  const char* const begin = static_cast<const char*>(data);
  if (begin == nullptr || bytes <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("memory to be pinned has ", bytes, " bytes at ",
                                                   begin == nullptr ? "null" : "an address"));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto next = blocks_.lower_bound(begin);
  const bool meets_next = next != blocks_.end() && next->first < begin + bytes;
  const bool meets_before =
      next != blocks_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > begin;
  if (meets_next || meets_before) {
    return absl::InvalidArgumentError(
        absl::StrCat(bytes, " bytes to be pinned overlap memory that is pinned"));
  }
  const cudaError_t error =
      cudaHostRegister(data, static_cast<size_t>(bytes), cudaHostRegisterPortable);
  if (error == cudaErrorHostMemoryAlreadyRegistered && IsPinnedByOthers(begin, bytes)) {
    static_cast<void>(cudaGetLastError());
    blocks_[begin] = {bytes, /*ours=*/false};
    return absl::OkStatus();
  }
  ASHLAR_RETURN_IF_ERROR(Check(error, "cudaHostRegister"));
  blocks_[begin] = {bytes, /*ours=*/true};
  return absl::OkStatus();
}

absl::Status PinnedMemory::Unpin(void* data) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = blocks_.find(static_cast<const char*>(data));
  if (it == blocks_.end()) {
    return absl::InvalidArgumentError("memory to unpin does not begin at a pinned address");
  }
  const bool ours = it->second.ours;
  blocks_.erase(it);
  if (ours) ASHLAR_CUDA_RETURN_IF_ERROR(cudaHostUnregister(data));
  return absl::OkStatus();
}

bool PinnedMemory::Holds(const void* data, int64_t bytes) const {
  const char* const begin = static_cast<const char*>(data);
  const std::lock_guard<std::mutex> lock(mutex_);
  auto it = blocks_.upper_bound(begin);
  if (it == blocks_.begin()) return false;
  --it;
  return begin + bytes <= it->first + it->second.bytes;
}

}  // namespace ashlar::cuda
