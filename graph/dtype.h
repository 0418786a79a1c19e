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
};

inline constexpr int kNumDTypes = 10;

// Bytes of one element.
int64_t SizeOf(DType dtype);

// Float32, Float16, BFloat16 or Float64.
bool IsFloat(DType dtype);

// "Float32", "BFloat16", ...
absl::string_view Name(DType dtype);
// All names, in the order of the enumeration.
absl::Span<const char* const> DTypeNames();

absl::StatusOr<DType> ParseDType(absl::string_view name);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_DTYPE_H_
