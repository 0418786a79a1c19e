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
  kFloat64,  // of the host's reference alone: no device computes in it
  // Integers that stand for real numbers by the quantisation of their tensor's type.
  kQuantized8Asymm,  // 0 to 255
  kQuantizedS8,      // -128 to 127
  kQuantizedS32,
};

inline constexpr int kNumDTypes = 13;
// Those whose values need no quantisation come first.
inline constexpr int kNumPlainDTypes = 10;

// Bytes of one element.
int64_t SizeOf(DType dtype);

// Float32, Float16, BFloat16 or Float64.
bool IsFloat(DType dtype);

inline bool IsQuantized(DType dtype) { return dtype >= DType::kQuantized8Asymm; }
// The integers that a quantised tensor is stored as; others are stored as themselves.
DType StoredAs(DType dtype);

// "Float32", "BFloat16", ...
absl::string_view Name(DType dtype);
// All names, in the order of the enumeration.
absl::Span<const char* const> DTypeNames();

absl::StatusOr<DType> ParseDType(absl::string_view name);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_DTYPE_H_
