// The device that libraries choose kernels for: a real one, or one that is only described.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_LIBRARY_DEVICE_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_LIBRARY_DEVICE_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/toolkit/descriptor.h"
#include "runtime/cuda/toolkit/recently_used.h"

namespace ashlar::cuda {

struct ConvEngine;  // toolkit/conv_engines.h

struct LibraryDevice {
  LibraryDevice() = default;
  ~LibraryDevice();
  LibraryDevice(const LibraryDevice&) = delete;
  LibraryDevice& operator=(const LibraryDevice&) = delete;

  cudnnHandle_t cudnn = nullptr;          // null where there is no device; used under `planning`
  cublasLtHandle_t cublas = nullptr;      // likewise
  std::unique_ptr<Descriptor> described;  // in the place of the device where there is none
  std::string name;                       // "NVIDIA H200, 9.0"; "" where there is no device

  // A handle of cuDNN is for one thread at a time, and several may plan.
  mutable std::mutex planning;
  // Engines that were prepared, by graph and policy: preparing them takes most of the time of
  // planning. Used under `planning`.
  mutable RecentlyUsed<std::shared_ptr<const std::vector<ConvEngine>>> prepared{kMostPrepared};

  static constexpr size_t kMostPrepared = 512;  // more than a model has, or a few of its tilings
};

// Describes an H200 (Hopper, 132 multiprocessors, compute capability 9.0), or the device in the
// file that the environment variable ASHLAR_DEVICE_PROPERTIES names. cuDNN takes the description in
// the place of a device when it is only asked what it would do.
absl::StatusOr<std::unique_ptr<Descriptor>> DescribeDevice();

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_LIBRARY_DEVICE_H_
