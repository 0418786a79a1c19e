#include "graph/dtype.h"

#include <algorithm>
#include <iterator>

#include "graph/status.h"

namespace ashlar {
namespace {

constexpr const char* kNames[kNumDTypes] = {
    "Float32",      "Float16", "BFloat16", "Int64",   "Int32",           "Int8",
    "Uint8",        "Byte",    "Bool",     "Float64", "Quantized8Asymm", "QuantizedS8",
    "QuantizedS32", "Uint16",  "Int16",    "Uint32",  "Uint64"};
constexpr int64_t kSizes[kNumDTypes] = {4, 2, 2, 8, 4, 1, 1, 1, 1, 8, 1, 1, 4, 2, 2, 4, 8};

}  // namespace

int64_t SizeOf(DType dtype) { return kSizes[static_cast<int>(dtype)]; }

bool IsFloat(DType dtype) { return dtype <= DType::kBFloat16 || dtype == DType::kFloat64; }

bool IsInteger(DType dtype) {
  return std::find(std::begin(kIntegerDTypes), std::end(kIntegerDTypes), dtype) !=
         std::end(kIntegerDTypes);
}

bool IsUnsigned(DType dtype) {
  return dtype == DType::kUint8 || dtype == DType::kByte || dtype == DType::kBool ||
         dtype == DType::kUint16 || dtype == DType::kUint32 || dtype == DType::kUint64;
}

DType StoredAs(DType dtype) {
  switch (dtype) {
    case DType::kQuantized8Asymm:
      return DType::kUint8;
    case DType::kQuantizedS8:
      return DType::kInt8;
    case DType::kQuantizedS32:
      return DType::kInt32;
    default:
      return dtype;
  }
}

absl::string_view Name(DType dtype) { return kNames[static_cast<int>(dtype)]; }

absl::Span<const char* const> DTypeNames() { return kNames; }

absl::StatusOr<DType> ParseDType(absl::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (name == kNames[i]) return static_cast<DType>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown dtype '", name, "'"));
}

}  // namespace ashlar
