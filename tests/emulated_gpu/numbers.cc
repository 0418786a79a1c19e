#include "tests/emulated_gpu/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ashlar::emulated {
namespace {

// 16 bits: a sign, `exponent_bits` bits of the exponent, the rest of the mantissa.
struct Layout16 {
  int exponent_bits;
  int mantissa_bits() const { return 15 - exponent_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int largest_exponent() const { return (1 << exponent_bits) - 1; }  // of infinities and NaNs
};
constexpr Layout16 kHalfLayout = {5}, kBFloat16Layout = {8};

double Decode(Layout16 layout, uint16_t bits) {
  const int mantissa_bits = layout.mantissa_bits();
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  if (exponent == layout.largest_exponent()) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - layout.bias() - mantissa_bits);
  return sign *
         std::ldexp(mantissa + (1 << mantissa_bits), exponent - layout.bias() - mantissa_bits);
}

uint16_t Encode(Layout16 layout, double value) {
  const int mantissa_bits = layout.mantissa_bits();
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const int infinity = layout.largest_exponent() << mantissa_bits;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | infinity | 1 << (mantissa_bits - 1));
  if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
  const double magnitude = std::abs(value);
  if (magnitude == 0) return static_cast<uint16_t>(sign);
  const int smallest = 1 - layout.bias();  // exponent of normal numbers
  const int exponent = std::max(std::ilogb(magnitude), smallest);
  // In units of the last place. If the rounding carries, the exponent's bits absorb it.
  const int units =
      static_cast<int>(std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent)));
  const int bits = units + ((exponent - smallest) << mantissa_bits);
  return static_cast<uint16_t>(sign | std::min(bits, infinity));
}

template <typename T>
T Read(const void* data, int64_t element) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + element * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Write(void* data, int64_t element, T value) {
  std::memcpy(static_cast<char*>(data) + element * sizeof(T), &value, sizeof(T));
}

}  // namespace

int64_t BytesOf(Number type) {
  if (type == Number::kInt8) return 1;
  return type == Number::kFloat || type == Number::kInt32 ? 4 : 2;
}

double Load(Number type, const void* data, int64_t element) {
  if (type == Number::kFloat) return Read<float>(data, element);
  if (type == Number::kInt8) return Read<int8_t>(data, element);
  if (type == Number::kInt32) return Read<int32_t>(data, element);
  return Decode(type == Number::kHalf ? kHalfLayout : kBFloat16Layout,
                Read<uint16_t>(data, element));
}

void Store(Number type, void* data, int64_t element, double value) {
  if (type == Number::kFloat) return Write(data, element, static_cast<float>(value));
  if (type == Number::kInt8) return Write(data, element, static_cast<int8_t>(value));
  if (type == Number::kInt32) return Write(data, element, static_cast<int32_t>(value));
  Write(data, element, Encode(type == Number::kHalf ? kHalfLayout : kBFloat16Layout, value));
}

double Rounded(Number type, double value) {
  char stored[4];
  Store(type, stored, 0, value);
  return Load(type, stored, 0);
}

double RoundTo(double value, int bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::ilogb(value);
  return std::ldexp(std::nearbyint(std::ldexp(value, bits - exponent)), exponent - bits);
}

}  // namespace ashlar::emulated
