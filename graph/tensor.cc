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

namespace {

// How the elements of a dtype are read and written.
struct Elements {
  double (*at)(const void* data, int64_t i);
  int64_t (*integer_at)(const void* data, int64_t i);
  void (*set)(void* data, int64_t i, double value);
  void (*set_integer)(void* data, int64_t i, int64_t value);
};

// Elements that are stored as T, and converted by these functions.
template <typename T, auto to_double, auto from_double, auto from_integer>
constexpr Elements ElementsOf() {
  return {
      [](const void* data, int64_t i) {
        return static_cast<double>(to_double(static_cast<const T*>(data)[i]));
      },
      [](const void* data, int64_t i) {
        return static_cast<int64_t>(static_cast<const T*>(data)[i]);
      },
      [](void* data, int64_t i, double value) { static_cast<T*>(data)[i] = from_double(value); },
      [](void* data, int64_t i, int64_t value) { static_cast<T*>(data)[i] = from_integer(value); }};
}

template <typename To>
constexpr auto kCast = [](auto value) { return static_cast<To>(value); };

template <typename T>
constexpr Elements kFloats = ElementsOf<T, kCast<double>, kCast<T>, kCast<T>>();
template <float (*to_float)(uint16_t), uint16_t (*from_float)(float)>
constexpr Elements kHalves = ElementsOf<
    uint16_t, to_float, [](double value) { return from_float(static_cast<float>(value)); },
    [](int64_t value) { return from_float(static_cast<float>(value)); }>();
template <typename T>
constexpr Elements kIntegers = ElementsOf<T, kCast<double>, Saturate<T>, kCast<T>>();
constexpr auto kIsNotZero = [](auto value) { return static_cast<uint8_t>(value != 0); };

constexpr Elements kElements[kNumDTypes] = {
    kFloats<float>,                                                // Float32
    kHalves<HalfToFloat, FloatToHalf>,                             // Float16
    kHalves<BFloat16ToFloat, FloatToBFloat16>,                     // BFloat16
    kIntegers<int64_t>,                                            // Int64
    kIntegers<int32_t>,                                            // Int32
    kIntegers<int8_t>,                                             // Int8
    kIntegers<uint8_t>,                                            // Uint8
    kIntegers<uint8_t>,                                            // Byte
    ElementsOf<uint8_t, kCast<double>, kIsNotZero, kIsNotZero>(),  // Bool
    kFloats<double>,                                               // Float64
    kIntegers<uint8_t>,                                            // Quantized8Asymm
    kIntegers<int8_t>,                                             // QuantizedS8
    kIntegers<int32_t>,                                            // QuantizedS32
    kIntegers<uint16_t>,                                           // Uint16
    kIntegers<int16_t>,                                            // Int16
    kIntegers<uint32_t>,                                           // Uint32
    kIntegers<uint64_t>,                                           // Uint64
};

const Elements& Of(DType dtype) { return kElements[static_cast<size_t>(dtype)]; }

}  // namespace

double HostTensor::At(int64_t i) const { return Of(dtype_).at(raw(), i); }

int64_t HostTensor::IntegerAt(int64_t i) const { return Of(dtype_).integer_at(raw(), i); }

void HostTensor::Set(int64_t i, double value) { Of(dtype_).set(mutable_, i, value); }

void HostTensor::SetInteger(int64_t i, int64_t value) {
  Of(dtype_).set_integer(mutable_, i, value);
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
