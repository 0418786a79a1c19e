#include "graph/dtype.h"

#include "graph/status.h"

namespace ashlar {
namespace {

constexpr const char* kNames[kNumDTypes] = {"Float32", "Float16", "BFloat16", "Int64", "Int32",
                                            "Int8",    "Uint8",   "Byte",     "Bool",  "Float64"};
constexpr int64_t kSizes[kNumDTypes] = {4, 2, 2, 8, 4, 1, 1, 1, 1, 8};

}  // namespace

int64_t SizeOf(DType dtype) { return kSizes[static_cast<int>(dtype)]; }

bool IsFloat(DType dtype) { return dtype <= DType::kBFloat16 || dtype == DType::kFloat64; }

absl::string_view Name(DType dtype) { return kNames[static_cast<int>(dtype)]; }

absl::Span<const char* const> DTypeNames() { return kNames; }

absl::StatusOr<DType> ParseDType(absl::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (name == kNames[i]) return static_cast<DType>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown dtype '", name, "'"));
}

}  // namespace ashlar
