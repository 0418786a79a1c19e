// The device for which libraries choose kernels: a real one, or only a description.
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

  cudnnHandle_t cudnn = nullptr;          // null without a device; guarded by `planning`
  cublasLtHandle_t cublas = nullptr;      // likewise
  std::unique_ptr<Descriptor> described;  // used if there is no device
  std::string name;                       // "NVIDIA H100 80GB HBM3, 9.0"; "" without a device

  // A cuDNN handle is for one thread at a time, but several threads may plan.
  mutable std::mutex planning;
  // Cached engines, by graph and policy: preparing them is most of the planning time. Guarded by
  // `planning`.
  mutable RecentlyUsed<std::shared_ptr<const std::vector<ConvEngine>>> prepared{kMostPrepared};

  static constexpr size_t kMostPrepared = 512;  // more than one model has, with a few tilings
};

// Describes the device in the file that the environment variable ASHLAR_DEVICE_PROPERTIES names,
// otherwise an 80 GB H100 (Hopper, 132 multiprocessors, compute capability 9.0). cuDNN accepts a
// description instead of a device for questions about its choices.
absl::StatusOr<std::unique_ptr<Descriptor>> DescribeDevice();

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_LIBRARY_DEVICE_H_
