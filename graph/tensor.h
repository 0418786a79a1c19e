// A row-major tensor in host memory, shared, and immutable after it is passed on.
#ifndef ASHLAR_GRAPH_TENSOR_H_
#define ASHLAR_GRAPH_TENSOR_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/types/span.h"
#include "graph/half.h"
#include "graph/shape.h"

namespace ashlar {

// A tensor that owns its bytes, shares them with an owner, or computes them from another tensor on
// demand. An owner is, for example, the mapping of a model file. Copies share the data. Owned bytes
// are aligned to 64.
class HostTensor {
 public:
  HostTensor() = default;

  // Returns a zero-filled tensor. The shape must be valid (Shape::Make).
  static HostTensor Zeros(DType dtype, const Shape& shape);
  static HostTensor Zeros(const TensorType& type) {
    return Zeros(type.dtype, type.shape).As(type.dtype, type.quantization);
  }
  // Returns zeros with the element type of `like`.
  static HostTensor ZerosLike(const HostTensor& like, const Shape& shape) {
    return Zeros(like.dtype(), shape).As(like.dtype(), like.quantization());
  }
  // Wraps bytes that `owner` keeps alive; `data` holds type.bytes() of them.
  static HostTensor Borrow(DType dtype, const Shape& shape, std::shared_ptr<const void> owner,
                           const void* data);
  // Returns a tensor of the same type that `make` computes from `source` on first use. Weights that
  // a pass changes are thus in memory only once until they are packed.
  using Make = std::function<HostTensor(const HostTensor& source)>;
  static HostTensor Deferred(const HostTensor& source, Make make);
  // Returns a shape without data, as the value of a SHAPE-only input.
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
  // A deferred tensor is computed by the first call and then saved as long as the tensor lives.
  const void* raw() const { return deferred_ == nullptr ? data_ : Kept(); }

  template <typename T>
  absl::Span<const T> data() const {
    return {static_cast<const T*>(raw()), static_cast<size_t>(num_elements())};
  }
  // Only for a tensor from Zeros that is not shared yet.
  template <typename T>
  absl::Span<T> mutable_data() {
    return {static_cast<T*>(mutable_), static_cast<size_t>(num_elements())};
  }
  void* mutable_raw() { return mutable_; }

  // Empty unless the dtype is quantised. The elements are the stored integers.
  const Quantization& quantization() const { return quantization_; }
  // Returns the same integers as another dtype: a quantised dtype stored as this one, or the
  // reverse.
  HostTensor As(DType dtype, Quantization quantization) const;

  // Returns the same bytes under another shape with as many elements.
  HostTensor Reshaped(const Shape& shape) const;

  // Returns a tensor with bytes of its own. For callers that read a deferred tensor once: nothing
  // is saved.
  HostTensor Computed() const;
  // Returns the source of a deferred tensor; otherwise this tensor.
  const HostTensor& source() const;

  // Returns element i as a double, for every dtype. Integers beyond 2^53 are rounded.
  double At(int64_t i) const;
  // Returns element i of an integer dtype or Bool exactly; a Uint64 beyond 2^63 - 1 wraps around.
  int64_t IntegerAt(int64_t i) const;
  // Stores a value, rounded and saturated to the dtype. Only for a tensor from Zeros.
  void Set(int64_t i, double value);
  // Stores an integer in an integer dtype, truncated to the dtype's bits, or in Bool. Only for a
  // tensor from Zeros.
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
