// The device that libraries choose kernels for: a real one, or one that is only described.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_LIBRARY_DEVICE_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_LIBRARY_DEVICE_H_

#include <memory>
#include <string>

#include "runtime/cuda/toolkit/descriptor.h"

namespace ashlar::cuda {

struct LibraryDevice {
  cudnnHandle_t cudnn = nullptr;          // null where there is no device
  cublasLtHandle_t cublas = nullptr;      // likewise
  std::unique_ptr<Descriptor> described;  // what stands for the device where there is none
  std::string name;                       // "NVIDIA H200, 9.0"; "" where there is no device
};

// A description of a Hopper data centre GPU (132 multiprocessors, compute capability 9.0), which
// cuDNN takes in the place of a device when it is only asked what it would do.
std::unique_ptr<Descriptor> DescribeDevice();

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_LIBRARY_DEVICE_H_
