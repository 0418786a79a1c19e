// Descriptors of cuDNN's backend interface: typed attributes, and one error for a whole chain of
// calls.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_DESCRIPTOR_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_DESCRIPTOR_H_

#include <cudnn.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "runtime/cuda/toolkit/errors.h"

namespace ashlar::cuda {

// The cuDNN attribute type for a C++ type.
template <typename T>
struct AttributeType;
template <>
struct AttributeType<int64_t> {
  static constexpr auto kValue = CUDNN_TYPE_INT64;
};
template <>
struct AttributeType<bool> {
  static constexpr auto kValue = CUDNN_TYPE_BOOLEAN;
};
template <>
struct AttributeType<float> {
  static constexpr auto kValue = CUDNN_TYPE_FLOAT;
};
template <>
struct AttributeType<double> {
  static constexpr auto kValue = CUDNN_TYPE_DOUBLE;
};
template <>
struct AttributeType<void*> {
  static constexpr auto kValue = CUDNN_TYPE_VOID_PTR;
};
template <>
struct AttributeType<cudnnDataType_t> {
  static constexpr auto kValue = CUDNN_TYPE_DATA_TYPE;
};
template <>
struct AttributeType<cudnnConvolutionMode_t> {
  static constexpr auto kValue = CUDNN_TYPE_CONVOLUTION_MODE;
};
template <>
struct AttributeType<cudnnPointwiseMode_t> {
  static constexpr auto kValue = CUDNN_TYPE_POINTWISE_MODE;
};
template <>
struct AttributeType<cudnnBackendHeurMode_t> {
  static constexpr auto kValue = CUDNN_TYPE_HEUR_MODE;
};
template <>
struct AttributeType<cudnnBackendNumericalNote_t> {
  static constexpr auto kValue = CUDNN_TYPE_NUMERICAL_NOTE;
};
template <>
struct AttributeType<cudnnBackendBehaviorNote_t> {
  static constexpr auto kValue = CUDNN_TYPE_BEHAVIOR_NOTE;
};
template <>
struct AttributeType<cudnnBackendKnobType_t> {
  static constexpr auto kValue = CUDNN_TYPE_KNOB_TYPE;
};
template <>
struct AttributeType<cudnnHandle_t> {
  static constexpr auto kValue = CUDNN_TYPE_HANDLE;
};

// A descriptor that keeps its first error; later calls do nothing. If it is set as an attribute of
// another descriptor, it must outlive that.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    Keep(cudnnBackendCreateDescriptor(type, &descriptor_), "cudnnBackendCreateDescriptor", type);
  }
  Descriptor(Descriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, nullptr)), status_(std::move(other.status_)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(status_, other.status_);
    return *this;
  }
  ~Descriptor() {
    if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
  }

  cudnnBackendDescriptor_t get() const { return descriptor_; }
  const absl::Status& status() const { return status_; }

  template <typename T>
  Descriptor& Set(cudnnBackendAttributeName_t name, const T& value) {
    return SetRaw(name, AttributeType<T>::kValue, 1, &value);
  }
  template <typename T>
  Descriptor& SetAll(cudnnBackendAttributeName_t name, absl::Span<const T> values) {
    return SetRaw(name, AttributeType<T>::kValue, static_cast<int64_t>(values.size()),
                  values.data());
  }
  Descriptor& SetDescriptor(cudnnBackendAttributeName_t name, const Descriptor& value) {
    if (status_.ok()) status_ = value.status_;
    return SetRaw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
  }
  Descriptor& SetDescriptors(cudnnBackendAttributeName_t name,
                             absl::Span<const Descriptor> values) {
    std::vector<cudnnBackendDescriptor_t> pointers;
    for (const Descriptor& value : values) {
      if (status_.ok()) status_ = value.status_;
      pointers.push_back(value.descriptor_);
    }
    return SetRaw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(pointers.size()),
                  pointers.data());
  }
  Descriptor& Finalize() {
    if (status_.ok()) Keep(cudnnBackendFinalize(descriptor_), "cudnnBackendFinalize", 0);
    return *this;
  }

  // Returns at most `most` values of an attribute.
  template <typename T>
  absl::StatusOr<std::vector<T>> GetAll(cudnnBackendAttributeName_t name, int64_t most) const {
    ASHLAR_RETURN_IF_ERROR(status_);
    std::vector<T> values(static_cast<size_t>(most));
    int64_t count = 0;
    ASHLAR_CUDA_RETURN_IF_ERROR(cudnnBackendGetAttribute(
        descriptor_, name, AttributeType<T>::kValue, most, &count, values.data()));
    values.resize(static_cast<size_t>(std::min(count, most)));
    return values;
  }
  template <typename T>
  absl::StatusOr<T> Get(cudnnBackendAttributeName_t name) const {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<T> values, GetAll<T>(name, 1));
    if (values.empty()) return absl::InternalError("a cuDNN descriptor lacks an attribute");
    return values[0];
  }
  // Returns attributes that are descriptors of the given type, at most `most`.
  absl::StatusOr<std::vector<Descriptor>> GetDescriptors(cudnnBackendAttributeName_t name,
                                                         cudnnBackendDescriptorType_t type,
                                                         int64_t most) const;

 private:
  Descriptor& SetRaw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     int64_t count, const void* values) {
    if (status_.ok()) {
      Keep(cudnnBackendSetAttribute(descriptor_, name, type, count, values),
           "cudnnBackendSetAttribute", name);
    }
    return *this;
  }
  void Keep(cudnnStatus_t status, absl::string_view call, int what) {
    if (status != CUDNN_STATUS_SUCCESS) status_ = Check(status, absl::StrCat(call, " ", what));
  }

  cudnnBackendDescriptor_t descriptor_ = nullptr;
  absl::Status status_;
};

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_DESCRIPTOR_H_
