// Tensor elements as kernels see them. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_SCALAR_H_
#define ASHLAR_RUNTIME_CUDA_SCALAR_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "opr/base/wrapping_int.h"

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#define ASHLAR_HD __host__ __device__ inline
#define ASHLAR_HD_CALL __host__ __device__ __noinline__ inline  // one copy, shared by all callers
#define ASHLAR_UNROLL _Pragma("unroll")
#else
#define ASHLAR_HD inline
#define ASHLAR_HD_CALL inline
#define ASHLAR_UNROLL
#endif

namespace ashlar {

// Defined with graph/tensor.h, which device code cannot include.
float HalfToFloat(uint16_t half);
uint16_t FloatToHalf(float value);

namespace cuda {

// The dtypes of graph/dtype.h, in the same order.
enum class Scalar : uint8_t {
  kFloat32,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt8,
  kUint8,
  kByte,
  kBool,
  kFloat64,
  kQuantized8Asymm,
  kQuantizedS8,
  kQuantizedS32,
  kUint16,
  kInt16,
  kUint32,
  kUint64,
};

ASHLAR_HD bool HoldsIntegers(Scalar dtype) {
  return (dtype >= Scalar::kInt64 && dtype <= Scalar::kBool) || dtype >= Scalar::kUint16;
}

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

ASHLAR_HD float ToFloat(float value) { return value; }

ASHLAR_HD float ToFloat(Half value) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(value.bits));
#else
  return HalfToFloat(value.bits);
#endif
}

ASHLAR_HD float ToFloat(BFloat16 value) {
  union {
    uint32_t bits;
    float number;
  } wide = {static_cast<uint32_t>(value.bits) << 16};
  return wide.number;
}

// Rounds to nearest, ties to even.
ASHLAR_HD void FromFloat(float value, float& to) { to = value; }

ASHLAR_HD void FromFloat(float value, Half& to) {
#if defined(__CUDA_ARCH__)
  to.bits = __half_as_ushort(__float2half_rn(value));
#else
  to.bits = FloatToHalf(value);
#endif
}

ASHLAR_HD void FromFloat(float value, BFloat16& to) {
  union {
    float number;
    uint32_t bits;
  } wide = {value};
  const uint32_t odd = (wide.bits >> 16) & 1;
  const bool nan = (wide.bits & 0x7fffffffu) > 0x7f800000u;
  to.bits =
      static_cast<uint16_t>(nan ? (wide.bits >> 16) | 0x40u : (wide.bits + 0x7fffu + odd) >> 16);
}

// Rounds towards zero and saturates; NaN becomes 0.
template <typename Integer, typename Real>
ASHLAR_HD Integer Saturated(Real value, double lowest, double highest) {
  if (value != value) return 0;
  const double wide = static_cast<double>(value);
  if (wide <= lowest) return static_cast<Integer>(lowest);
  // 2^63 - 1 is not a double, but comparing against 2^63 with >= is exact.
  if (wide >= highest) {
    return sizeof(Integer) == 8 ? static_cast<Integer>(INT64_MAX) : static_cast<Integer>(highest);
  }
  return static_cast<Integer>(wide);
}

// Loads element `index` of `data`, of any dtype. Real is float or double, or WrappingInt for
// integers and Bool.
template <typename Real>
ASHLAR_HD Real LoadAs(Scalar dtype, const void* data, int64_t index) {
  if constexpr (!std::is_same_v<Real, WrappingInt>) {
    switch (dtype) {
      case Scalar::kFloat32:
        return static_cast<const float*>(data)[index];
      case Scalar::kFloat64:
        return static_cast<Real>(static_cast<const double*>(data)[index]);
      case Scalar::kFloat16:
        return ToFloat(static_cast<const Half*>(data)[index]);
      case Scalar::kBFloat16:
        return ToFloat(static_cast<const BFloat16*>(data)[index]);
      default:
        break;
    }
  }
  switch (dtype) {
    case Scalar::kInt64:
      return static_cast<Real>(static_cast<const int64_t*>(data)[index]);
    case Scalar::kInt32:
      return static_cast<Real>(static_cast<const int32_t*>(data)[index]);
    case Scalar::kInt8:
      return static_cast<const int8_t*>(data)[index];
    case Scalar::kUint16:
      return static_cast<const uint16_t*>(data)[index];
    case Scalar::kInt16:
      return static_cast<const int16_t*>(data)[index];
    case Scalar::kUint32:
      return static_cast<Real>(static_cast<const uint32_t*>(data)[index]);
    case Scalar::kUint8:
    case Scalar::kByte:
      return static_cast<const uint8_t*>(data)[index];
    case Scalar::kBool:
      return static_cast<const uint8_t*>(data)[index] != 0 ? 1 : 0;
    default:
      return 0;
  }
}

// Stores an integer; drops the upper bits that the dtype lacks.
ASHLAR_HD void StoreAs(Scalar dtype, void* data, int64_t index, WrappingInt value) {
  switch (dtype) {
    case Scalar::kInt64:
      static_cast<int64_t*>(data)[index] = value.value;
      return;
    case Scalar::kInt32:
    case Scalar::kUint32:
      static_cast<int32_t*>(data)[index] = static_cast<int32_t>(value.value);
      return;
    case Scalar::kInt16:
    case Scalar::kUint16:
      static_cast<int16_t*>(data)[index] = static_cast<int16_t>(value.value);
      return;
    case Scalar::kBool:
      static_cast<uint8_t*>(data)[index] = value.value != 0 ? 1 : 0;
      return;
    default:
      static_cast<uint8_t*>(data)[index] = static_cast<uint8_t>(value.value);
      return;
  }
}

template <typename Real>
ASHLAR_HD void StoreAs(Scalar dtype, void* data, int64_t index, Real value) {
  switch (dtype) {
    case Scalar::kFloat32:
      static_cast<float*>(data)[index] = static_cast<float>(value);
      return;
    case Scalar::kFloat64:
      static_cast<double*>(data)[index] = static_cast<double>(value);
      return;
    case Scalar::kFloat16:
      FromFloat(static_cast<float>(value), static_cast<Half*>(data)[index]);
      return;
    case Scalar::kBFloat16:
      FromFloat(static_cast<float>(value), static_cast<BFloat16*>(data)[index]);
      return;
    case Scalar::kInt64:
      static_cast<int64_t*>(data)[index] =
          Saturated<int64_t>(value, -9223372036854775808.0, 9223372036854775808.0);
      return;
    case Scalar::kInt32:
      static_cast<int32_t*>(data)[index] = Saturated<int32_t>(value, -2147483648.0, 2147483647.0);
      return;
    case Scalar::kInt8:
      static_cast<int8_t*>(data)[index] = Saturated<int8_t>(value, -128.0, 127.0);
      return;
    case Scalar::kUint8:
    case Scalar::kByte:
      static_cast<uint8_t*>(data)[index] = Saturated<uint8_t>(value, 0.0, 255.0);
      return;
    case Scalar::kUint16:
      static_cast<uint16_t*>(data)[index] = Saturated<uint16_t>(value, 0.0, 65535.0);
      return;
    case Scalar::kInt16:
      static_cast<int16_t*>(data)[index] = Saturated<int16_t>(value, -32768.0, 32767.0);
      return;
    case Scalar::kUint32:
      static_cast<uint32_t*>(data)[index] = Saturated<uint32_t>(value, 0.0, 4294967295.0);
      return;
    case Scalar::kBool:
      static_cast<uint8_t*>(data)[index] = value != 0 ? 1 : 0;
      return;
    default:
      return;
  }
}

// A pack of up to 16 bytes that are loaded and stored at once.
template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T values[kCount];
};

}  // namespace cuda
}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_CUDA_SCALAR_H_
