// Element types, under MegEngine's names.
#ifndef ASHLAR_GRAPH_DTYPE_H_
#define ASHLAR_GRAPH_DTYPE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ashlar {

enum class DType : uint8_t {
  kFloat32,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt8,
  kUint8,
  kByte,  // opaque storage: workspaces
  kBool,
  kFloat64,
  // Integers that represent real numbers; the tensor type's quantisation says how.
  kQuantized8Asymm,  // 0 to 255
  kQuantizedS8,      // -128 to 127
  kQuantizedS32,
  // Later additions; files keep the numbers.
  kUint16,
  kInt16,
  kUint32,
  kUint64,
};

inline constexpr int kNumDTypes = 17;
// The dtypes without quantisation.
inline constexpr DType kPlainDTypes[] = {
    DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kInt64, DType::kInt32,
    DType::kInt8,    DType::kUint8,   DType::kByte,     DType::kBool,  DType::kFloat64,
    DType::kUint16,  DType::kInt16,   DType::kUint32,   DType::kUint64};
// Their integers, without Bool and Byte.
inline constexpr DType kIntegerDTypes[] = {DType::kInt64,  DType::kInt32,  DType::kInt8,
                                           DType::kUint8,  DType::kUint16, DType::kInt16,
                                           DType::kUint32, DType::kUint64};

// Returns the bytes of one element.
int64_t SizeOf(DType dtype);

// Returns whether `dtype` is Float32, Float16, BFloat16 or Float64.
bool IsFloat(DType dtype);

// Returns whether `dtype` is one of kIntegerDTypes.
bool IsInteger(DType dtype);
// Returns whether `dtype` is an integer without a sign, Bool or Byte.
bool IsUnsigned(DType dtype);

inline bool IsQuantized(DType dtype) {
  return dtype >= DType::kQuantized8Asymm && dtype <= DType::kQuantizedS32;
}
// Returns whether `dtype` is quantised to 8 bits.
inline bool IsQuantizedTo8Bits(DType dtype) {
  return dtype == DType::kQuantized8Asymm || dtype == DType::kQuantizedS8;
}
// Returns the integer dtype in which a quantised dtype is stored; other dtypes are returned
// unchanged.
DType StoredAs(DType dtype);

// "Float32", "BFloat16", ...
absl::string_view Name(DType dtype);
// Returns all names, in the order of the enumeration.
absl::Span<const char* const> DTypeNames();

absl::StatusOr<DType> ParseDType(absl::string_view name);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_DTYPE_H_
