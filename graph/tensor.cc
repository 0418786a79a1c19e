#include "graph/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

#include "graph/host_memory.h"

namespace ashlar {
namespace {

template <typename T>
T Saturate(double value) {
  if (std::isnan(value)) return 0;
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double kHigh = static_cast<double>(std::numeric_limits<T>::max());
  // The comparison is >= because 2^63-1 rounds up to 2^63 as a double.
  if (value >= kHigh) return std::numeric_limits<T>::max();
  if (value <= kLow) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

// Blocks of at least this size get their own pages: freeing them returns the memory to the system
// at once.
constexpr size_t kOwnPages = 128 << 10;  // bytes

// Throws if there is no memory, as the standard library's containers do.
std::shared_ptr<void> ZeroBlock(size_t bytes) {
  bytes = std::max<size_t>((bytes + 63) / 64 * 64, 64);
  if (bytes >= kOwnPages) {
    void* const pages =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw HostMemoryExhausted("a tensor", static_cast<int64_t>(bytes));
    return {pages, [bytes](void* block) { munmap(block, bytes); }};
  }
  void* const block = std::aligned_alloc(64, bytes);
  if (block == nullptr) throw HostMemoryExhausted("a tensor", static_cast<int64_t>(bytes));
  std::memset(block, 0, bytes);
  return {block, std::free};
}

}  // namespace

struct HostTensor::Deferral {
  HostTensor source;
  HostTensor root;  // if the source is deferred: the bytes of its own source, as Byte
  Make make;
  std::once_flag once;
  HostTensor kept;
};

HostTensor HostTensor::Zeros(DType dtype, const Shape& shape) {
  HostTensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  const std::shared_ptr<void> block = ZeroBlock(static_cast<size_t>(tensor.bytes()));
  tensor.mutable_ = block.get();
  tensor.data_ = block.get();
  tensor.owner_ = block;
  return tensor;
}

HostTensor HostTensor::Borrow(DType dtype, const Shape& shape, std::shared_ptr<const void> owner,
                              const void* data) {
  HostTensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  tensor.owner_ = std::move(owner);
  tensor.data_ = data;
  return tensor;
}

HostTensor HostTensor::Deferred(const HostTensor& source, Make make) {
  HostTensor tensor = ShapeOnly(source.dtype(), source.shape());
  tensor.quantization_ = source.quantization_;
  tensor.deferred_ = std::make_shared<Deferral>();
  tensor.deferred_->source = source;
  if (source.deferred_ != nullptr) {
    const HostTensor& from = source.source();
    tensor.deferred_->root = from.Reshaped({from.bytes()}).As(DType::kByte, {});
  }
  tensor.deferred_->make = std::move(make);
  return tensor;
}

const void* HostTensor::Kept() const {
  std::call_once(deferred_->once, [&] { deferred_->kept = deferred_->make(deferred_->source); });
  return deferred_->kept.raw();
}

HostTensor HostTensor::Computed() const {
  if (deferred_ == nullptr) return *this;
  return deferred_->make(deferred_->source.Computed()).Reshaped(shape_).As(dtype_, quantization_);
}

const HostTensor& HostTensor::source() const {
  if (deferred_ == nullptr) return *this;
  return deferred_->source.deferred_ == nullptr ? deferred_->source : deferred_->root;
}

HostTensor HostTensor::ShapeOnly(DType dtype, const Shape& shape) {
  return Borrow(dtype, shape, nullptr, nullptr);
}

HostTensor HostTensor::As(DType dtype, Quantization quantization) const {
  HostTensor tensor = *this;
  tensor.dtype_ = dtype;
  tensor.quantization_ = std::move(quantization);
  return tensor;
}

HostTensor HostTensor::Reshaped(const Shape& shape) const {
  HostTensor tensor = *this;
  tensor.shape_ = shape;
  return tensor;
}

double HostTensor::At(int64_t i) const {
  switch (StoredAs(dtype_)) {
    case DType::kFloat32:
      return data<float>()[i];
    case DType::kFloat64:
      return data<double>()[i];
    case DType::kFloat16:
      return HalfToFloat(data<uint16_t>()[i]);
    case DType::kBFloat16:
      return BFloat16ToFloat(data<uint16_t>()[i]);
    case DType::kInt64:
      return static_cast<double>(data<int64_t>()[i]);
    case DType::kInt32:
      return data<int32_t>()[i];
    case DType::kInt8:
      return data<int8_t>()[i];
    case DType::kUint16:
      return data<uint16_t>()[i];
    case DType::kInt16:
      return data<int16_t>()[i];
    case DType::kUint32:
      return data<uint32_t>()[i];
    case DType::kUint64:
      return static_cast<double>(data<uint64_t>()[i]);
    case DType::kUint8:
    case DType::kByte:
    case DType::kBool:
      return data<uint8_t>()[i];
    default:
      break;
  }
  return 0;
}

int64_t HostTensor::IntegerAt(int64_t i) const {
  switch (StoredAs(dtype_)) {
    case DType::kInt64:
      return data<int64_t>()[i];
    case DType::kInt32:
      return data<int32_t>()[i];
    case DType::kInt8:
      return data<int8_t>()[i];
    case DType::kUint16:
      return data<uint16_t>()[i];
    case DType::kInt16:
      return data<int16_t>()[i];
    case DType::kUint32:
      return data<uint32_t>()[i];
    case DType::kUint64:
      return static_cast<int64_t>(data<uint64_t>()[i]);
    default:
      return data<uint8_t>()[i];
  }
}

void HostTensor::SetInteger(int64_t i, int64_t value) {
  switch (StoredAs(dtype_)) {
    case DType::kInt64:
      mutable_data<int64_t>()[i] = value;
      break;
    case DType::kInt32:
      mutable_data<int32_t>()[i] = static_cast<int32_t>(value);
      break;
    case DType::kInt8:
      mutable_data<int8_t>()[i] = static_cast<int8_t>(value);
      break;
    case DType::kUint16:
      mutable_data<uint16_t>()[i] = static_cast<uint16_t>(value);
      break;
    case DType::kInt16:
      mutable_data<int16_t>()[i] = static_cast<int16_t>(value);
      break;
    case DType::kUint32:
      mutable_data<uint32_t>()[i] = static_cast<uint32_t>(value);
      break;
    case DType::kUint64:
      mutable_data<uint64_t>()[i] = static_cast<uint64_t>(value);
      break;
    case DType::kBool:
      mutable_data<uint8_t>()[i] = value != 0;
      break;
    default:
      mutable_data<uint8_t>()[i] = static_cast<uint8_t>(value);
      break;
  }
}

void HostTensor::Set(int64_t i, double value) {
  switch (StoredAs(dtype_)) {
    case DType::kFloat32:
      mutable_data<float>()[i] = static_cast<float>(value);
      break;
    case DType::kFloat64:
      mutable_data<double>()[i] = value;
      break;
    case DType::kFloat16:
      mutable_data<uint16_t>()[i] = FloatToHalf(static_cast<float>(value));
      break;
    case DType::kBFloat16:
      mutable_data<uint16_t>()[i] = FloatToBFloat16(static_cast<float>(value));
      break;
    case DType::kInt64:
      mutable_data<int64_t>()[i] = Saturate<int64_t>(value);
      break;
    case DType::kInt32:
      mutable_data<int32_t>()[i] = Saturate<int32_t>(value);
      break;
    case DType::kInt8:
      mutable_data<int8_t>()[i] = Saturate<int8_t>(value);
      break;
    case DType::kUint16:
      mutable_data<uint16_t>()[i] = Saturate<uint16_t>(value);
      break;
    case DType::kInt16:
      mutable_data<int16_t>()[i] = Saturate<int16_t>(value);
      break;
    case DType::kUint32:
      mutable_data<uint32_t>()[i] = Saturate<uint32_t>(value);
      break;
    case DType::kUint64:
      mutable_data<uint64_t>()[i] = Saturate<uint64_t>(value);
      break;
    case DType::kUint8:
    case DType::kByte:
      mutable_data<uint8_t>()[i] = Saturate<uint8_t>(value);
      break;
    case DType::kBool:
      mutable_data<uint8_t>()[i] = value != 0;
      break;
    default:
      break;
  }
}

float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f;
  const uint32_t fraction = half & 0x3ff;
  if (exponent == 0) {  // zero or subnormal: fraction x 2^-24
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;   // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds beyond 65504
  if (magnitude < 0x38800000) {                       // subnormal: in units of 2^-24
    const float scaled = std::ldexp(std::bit_cast<float>(magnitude), 24);
    return sign | static_cast<uint16_t>(std::nearbyint(scaled));
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | static_cast<uint16_t>((rounded - 0x38000000) >> 13);
}

float BFloat16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t FloatToBFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 0x40);  // NaN
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace ashlar
