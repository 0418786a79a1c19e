#include "graph/stored_tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ashlar {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;

bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// Returns the dtype as which stored elements are read.
DType ReadAs(DType stored) { return IsHalf(stored) ? DType::kFloat32 : stored; }

bool IsAligned(const HostTensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.raw()) % SizeOf(tensor.dtype()) == 0;
}

// Returns stored elements, which may begin at any address, as they are read.
HostTensor Converted(const HostTensor& stored) {
  HostTensor tensor = HostTensor::Zeros(ReadAs(stored.dtype()), stored.shape());
  if (!IsHalf(stored.dtype())) {
    if (tensor.bytes() > 0) {
      std::memcpy(tensor.mutable_raw(), stored.raw(), static_cast<size_t>(tensor.bytes()));
    }
    if (tensor.dtype() == DType::kBool) {
      for (uint8_t& value : tensor.mutable_data<uint8_t>()) value = value != 0;
    }
    return tensor;
  }
  const auto* const from = static_cast<const char*>(stored.raw());
  float* const to = tensor.mutable_data<float>().data();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, from + i * static_cast<int64_t>(sizeof(bits)), sizeof(bits));
    to[i] = stored.dtype() == DType::kFloat16 ? HalfToFloat(bits) : BFloat16ToFloat(bits);
  }
  return tensor;
}

// Whether StoredTensor made a deferred tensor: its source could not be read in place. Sources of
// other deferred tensors can, or are Bytes because they are deferred themselves.
bool IsDeferredStored(const HostTensor& tensor) {
  const HostTensor& source = tensor.source();
  if (&source == &tensor || source.dtype() == DType::kByte) return false;
  return !IsAligned(source) || (IsHalf(source.dtype()) && tensor.dtype() == DType::kFloat32);
}

}  // namespace

HostTensor StoredTensor(DType stored, const Shape& shape, std::shared_ptr<const void> owner,
                        const void* data) {
  const HostTensor source = HostTensor::Borrow(stored, shape, std::move(owner), data);
  if (stored == DType::kBool) return Converted(source);
  if (IsAligned(source) && !IsHalf(stored)) return source;
  return HostTensor::Deferred(source, Converted).As(ReadAs(stored), {});
}

bool HasElementsApart(const HostTensor& tensor) {
  return &tensor.source() == &tensor || IsDeferredStored(tensor);
}

HostTensor SliceOf(const HostTensor& tensor, int axis, int64_t begin, int64_t count) {
  Shape shape = tensor.shape();
  shape[axis] = count;
  if (!tensor.has_data()) return HostTensor::ShapeOnly(tensor.dtype(), shape);
  int64_t outer = 1, row = SizeOf(tensor.dtype());  // bytes of an element of the axis
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) row *= shape[i];
  if (outer == 1 && HasElementsApart(tensor)) {
    const int64_t elements = row / SizeOf(tensor.dtype());
    return ElementsOf(tensor, begin * elements, count * elements).Reshaped(shape);
  }
  const int64_t pitch = tensor.shape()[axis] * row;
  return HostTensor::Deferred(
             tensor,
             [=](const HostTensor& whole) {
               HostTensor part = HostTensor::ZerosLike(whole, shape);
               const auto bytes = static_cast<size_t>(count * row);
               for (int64_t i = 0; i < outer; ++i) {
                 std::memcpy(static_cast<char*>(part.mutable_raw()) + i * count * row,
                             static_cast<const char*>(whole.raw()) + i * pitch + begin * row,
                             bytes);
               }
               return part;
             })
      .Reshaped(shape);
}

HostTensor ElementsOf(const HostTensor& tensor, int64_t begin, int64_t count) {
  const bool stored = IsDeferredStored(tensor);
  const HostTensor& from = stored ? tensor.source() : tensor;
  const char* const data = static_cast<const char*>(from.raw()) + begin * SizeOf(from.dtype());
  const auto owner = std::make_shared<const HostTensor>(tensor);
  const HostTensor elements = stored ? StoredTensor(from.dtype(), {count}, owner, data)
                                     : HostTensor::Borrow(tensor.dtype(), {count}, owner, data);
  return elements.As(tensor.dtype(), tensor.quantization());
}

absl::Status ForPieces(const HostTensor& tensor,
                       absl::FunctionRef<absl::Status(const HostTensor& piece)> use) {
  const HostTensor whole = HasElementsApart(tensor) ? tensor : tensor.Computed();
  const int64_t elements = kPieceBytes / SizeOf(tensor.dtype()), all = tensor.num_elements();
  for (int64_t at = 0; at < all; at += elements) {
    const absl::Status used = use(ElementsOf(whole, at, std::min(elements, all - at)));
    if (!used.ok()) return used;
  }
  return absl::OkStatus();
}

bool ShareBytes(const HostTensor& a, const HostTensor& b) {
  if (a.bytes() != b.bytes() || !HasElementsApart(a) || !HasElementsApart(b)) return false;
  const HostTensor &from = a.source(), &other = b.source();
  return from.raw() == other.raw() && from.bytes() == other.bytes() &&
         IsDeferredStored(a) == IsDeferredStored(b) &&
         (!IsHalf(from.dtype()) || from.dtype() == other.dtype());
}

bool HaveSameBytes(const HostTensor& a, const HostTensor& b) {
  if (a.bytes() != b.bytes()) return false;
  if (ShareBytes(a, b)) return true;
  const HostTensor other = HasElementsApart(b) ? b : b.Computed();
  int64_t at = 0;  // in elements of the other, which may have another size
  return ForPieces(a,
                   [&](const HostTensor& piece) {
                     const int64_t elements = piece.bytes() / SizeOf(other.dtype());
                     const HostTensor part = ElementsOf(other, at, elements);
                     at += elements;
                     return BytesAsText(piece) == BytesAsText(part) ? absl::OkStatus()
                                                                    : absl::NotFoundError("");
                   })
      .ok();
}

}  // namespace ashlar
