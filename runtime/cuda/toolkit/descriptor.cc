#include "runtime/cuda/toolkit/descriptor.h"

namespace ashlar::cuda {

absl::StatusOr<std::vector<Descriptor>> Descriptor::GetDescriptors(
    cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type, int64_t most) const {
  ASHLAR_RETURN_IF_ERROR(status_);
  std::vector<Descriptor> descriptors;
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (int64_t i = 0; i < most; ++i) {
    descriptors.emplace_back(type);
    ASHLAR_RETURN_IF_ERROR(descriptors.back().status());
    pointers.push_back(descriptors.back().get());
  }
  int64_t count = 0;
  ASHLAR_CUDA_RETURN_IF_ERROR(cudnnBackendGetAttribute(
      descriptor_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &count, pointers.data()));
  descriptors.erase(descriptors.begin() + std::min(count, most), descriptors.end());
  return descriptors;
}

}  // namespace ashlar::cuda
