#include "tools/convert_elements.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ashlar {
namespace {

struct IntegerRange {
  int64_t least, most;
};

IntegerRange RangeOf(DType dtype) {
  const DType stored = StoredAs(dtype);
  if (stored == DType::kBool) return {0, 1};
  const bool has_sign = stored != DType::kUint8 && stored != DType::kByte;
  const int64_t most =
      std::numeric_limits<int64_t>::max() >> (64 - 8 * SizeOf(stored) - (has_sign ? 0 : 1));
  return {has_sign ? -most - 1 : 0, most};
}

// Returns the element if it is an integer of the range.
absl::StatusOr<int64_t> IntegerOf(const HostTensor& x, int64_t i, DType dtype) {
  const IntegerRange range = RangeOf(dtype);
  const auto refusal = [&](const std::string& got) {
    return absl::InvalidArgumentError(absl::StrCat("element ", i, " is ", got, ", expected ",
                                                   Name(dtype), ": an integer from ", range.least,
                                                   " to ", range.most));
  };
  if (!IsFloat(x.dtype())) {
    const int64_t value = x.IntegerAt(i);
    if (value < range.least || value > range.most) return refusal(absl::StrCat(value));
    return value;
  }
  const double value = x.At(i);
  // The bounds of an Int64 are no doubles, except 2^63.
  const double bound = std::ldexp(1.0, 63);
  if (value == std::floor(value) && value >= -bound && value < bound) {
    const auto integer = static_cast<int64_t>(value);
    if (integer >= range.least && integer <= range.most) return integer;
  }
  return refusal(absl::StrFormat("%.17g", value));
}

}  // namespace

absl::StatusOr<HostTensor> ConvertElements(const HostTensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  HostTensor y = HostTensor::Zeros(dtype, x.shape());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    if (!IsFloat(dtype)) {
      const absl::StatusOr<int64_t> integer = IntegerOf(x, i, dtype);
      if (!integer.ok()) return integer.status();
      y.SetInteger(i, *integer);
      continue;
    }
    // An Int64 beyond 2^53 would be rounded twice.
    if (x.dtype() == DType::kInt64 && dtype == DType::kFloat32) {
      y.mutable_data<float>()[i] = static_cast<float>(x.data<int64_t>()[i]);
      continue;
    }
    y.Set(i, x.At(i));
    if (!std::isfinite(x.At(i)) || std::isfinite(y.At(i))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("element ", i, " is ", x.At(i), ", which is infinite as ", Name(dtype)));
  }
  return y;
}

}  // namespace ashlar
