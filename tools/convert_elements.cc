#include "tools/convert_elements.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ashlar {
namespace {

using Wide = __int128;  // holds Int64 and Uint64

struct IntegerRange {
  Wide least, most;
};

IntegerRange RangeOf(DType dtype) {
  const DType stored = StoredAs(dtype);
  if (stored == DType::kBool) return {0, 1};
  const Wide numbers = Wide{1} << (8 * SizeOf(stored));
  if (IsUnsigned(stored)) return {0, numbers - 1};
  return {-numbers / 2, numbers / 2 - 1};
}

std::string Text(Wide number) {
  return number > std::numeric_limits<int64_t>::max() ? absl::StrCat(static_cast<uint64_t>(number))
                                                      : absl::StrCat(static_cast<int64_t>(number));
}

// Returns the element if it is an integer of the range.
absl::StatusOr<Wide> IntegerOf(const HostTensor& x, int64_t i, DType dtype) {
  const IntegerRange range = RangeOf(dtype);
  const auto refusal = [&](const std::string& got) {
    return absl::InvalidArgumentError(absl::StrCat("element ", i, " is ", got, ", expected ",
                                                   Name(dtype), ": an integer from ",
                                                   Text(range.least), " to ", Text(range.most)));
  };
  if (!IsFloat(x.dtype())) {
    const Wide value = x.dtype() == DType::kUint64 ? Wide{x.data<uint64_t>()[i]} : x.IntegerAt(i);
    if (value < range.least || value > range.most) return refusal(Text(value));
    return value;
  }
  const double value = x.At(i);
  if (value == std::floor(value) && std::abs(value) <= std::ldexp(1.0, 64)) {
    const auto integer = static_cast<Wide>(value);
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
      const absl::StatusOr<Wide> integer = IntegerOf(x, i, dtype);
      if (!integer.ok()) return integer.status();
      y.SetInteger(i, static_cast<int64_t>(*integer));
      continue;
    }
    // An integer beyond 2^53 would be rounded twice.
    if (!IsFloat(x.dtype()) && dtype == DType::kFloat32) {
      y.mutable_data<float>()[i] = x.dtype() == DType::kUint64
                                       ? static_cast<float>(x.data<uint64_t>()[i])
                                       : static_cast<float>(x.IntegerAt(i));
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
