// A tensor in host memory, row-major, shared and immutable once handed out.
#ifndef ASHLAR_GRAPH_TENSOR_H_
#define ASHLAR_GRAPH_TENSOR_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/types/span.h"
#include "graph/half.h"
#include "graph/shape.h"

namespace ashlar {

// Either owns its bytes, or shares them with an owner, such as the mapping of a model file, or
// knows how to compute them from another tensor's. Copies share the data. Alignment of owned
// bytes: 64.
class HostTensor {
 public:
  HostTensor() = default;

  // Zero-filled. The shape must be valid (Shape::Make).
  static HostTensor Zeros(DType dtype, const Shape& shape);
  static HostTensor Zeros(const TensorType& type) {
    return Zeros(type.dtype, type.shape).As(type.dtype, type.quantization);
  }
  // Of elements as those of `like`.
  static HostTensor ZerosLike(const HostTensor& like, const Shape& shape) {
    return Zeros(like.dtype(), shape).As(like.dtype(), like.quantization());
  }
  // Bytes that `owner` keeps alive; `data` holds type.bytes() of them.
  static HostTensor Borrow(DType dtype, const Shape& shape, std::shared_ptr<const void> owner,
                           const void* data);
  // The tensor that `make` computes of `source` on first use, of the same type: weights that a pass
  // changes are in memory once until they are packed.
  using Make = std::function<HostTensor(const HostTensor& source)>;
  static HostTensor Deferred(const HostTensor& source, Make make);
  // A shape without data, the value of a SHAPE-only input.
  static HostTensor ShapeOnly(DType dtype, const Shape& shape);

  template <typename T>
  static HostTensor FromValues(DType dtype, const Shape& shape, absl::Span<const T> values) {
    HostTensor tensor = Zeros(dtype, shape);
    std::copy(values.begin(), values.end(), tensor.mutable_data<T>().begin());
    return tensor;
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t num_elements() const { return shape_.num_elements(); }
  int64_t bytes() const { return num_elements() * SizeOf(dtype_); }
  bool has_data() const { return data_ != nullptr || deferred_ != nullptr || num_elements() == 0; }
  // Of a deferred tensor: computed by the first who asks, and kept as long as the tensor.
  const void* raw() const { return deferred_ == nullptr ? data_ : Kept(); }

  template <typename T>
  absl::Span<const T> data() const {
    return {static_cast<const T*>(raw()), static_cast<size_t>(num_elements())};
  }
  // Only for a tensor made by Zeros and not yet shared.
  template <typename T>
  absl::Span<T> mutable_data() {
    return {static_cast<T*>(mutable_), static_cast<size_t>(num_elements())};
  }
  void* mutable_raw() { return mutable_; }

  // Empty unless the dtype is quantised; elements are the integers that are stored.
  const Quantization& quantization() const { return quantization_; }
  // The same integers as a quantised dtype that is stored as this one, or the other way round.
  HostTensor As(DType dtype, Quantization quantization) const;

  // The same bytes under another shape of as many elements.
  HostTensor Reshaped(const Shape& shape) const;

  // The same tensor with bytes of its own, for who reads a deferred one once: it keeps nothing.
  HostTensor Computed() const;
  // The tensor before any computation: the source of a deferred tensor, or this one.
  const HostTensor& source() const;

  // Element i as a double, whatever the dtype. An Int64 beyond 2^53 is rounded.
  double At(int64_t i) const;
  // Element i of a dtype of integers or Bool, exactly.
  int64_t IntegerAt(int64_t i) const;
  // Stores a value, rounded and saturated to the dtype. Only for a tensor made by Zeros.
  void Set(int64_t i, double value);
  // Stores an integer in a dtype of integers, without the upper bits that the dtype lacks, or in
  // Bool. Only for a tensor made by Zeros.
  void SetInteger(int64_t i, int64_t value);

 private:
  struct Deferral;
  const void* Kept() const;

  DType dtype_ = DType::kFloat32;
  Shape shape_{0};
  Quantization quantization_;
  std::shared_ptr<const void> owner_;
  const void* data_ = nullptr;
  void* mutable_ = nullptr;
  std::shared_ptr<Deferral> deferred_;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TENSOR_H_
