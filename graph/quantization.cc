#include "graph/quantization.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ashlar {

absl::StatusOr<Quantization> Quantization::Make(DType dtype, std::vector<float> scales,
                                                int32_t zero_point) {
  if (!IsQuantized(dtype)) {
    return absl::InvalidArgumentError(absl::StrCat(Name(dtype), " has no scale"));
  }
  if (scales.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(Name(dtype), " without a scale"));
  }
  for (size_t i = 0; i < scales.size(); ++i) {
    if (scales[i] > 0 && std::isfinite(scales[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("scale ", i, " is ", scales[i], ", expected a positive number"));
  }
  const int32_t least = LeastOf(dtype);
  const int32_t most = dtype == DType::kQuantizedS32 ? 0 : MostOf(dtype);
  if (zero_point < least || zero_point > most) {
    return absl::InvalidArgumentError(absl::StrCat("the zero point is ", zero_point, ", expected ",
                                                   least, " to ", most, " in ", Name(dtype)));
  }
  Quantization quantization;
  quantization.scales_ = std::make_shared<const std::vector<float>>(std::move(scales));
  quantization.zero_point_ = zero_point;
  return quantization;
}

absl::Span<const float> Quantization::scales() const {
  return empty() ? absl::Span<const float>() : absl::MakeConstSpan(*scales_);
}

std::string Quantization::ToString() const {
  if (empty()) return "";
  const auto [least, most] = std::minmax_element(scales_->begin(), scales_->end());
  if (scales_->size() == 1) return absl::StrCat("(", *least, ",", zero_point_, ")");
  return absl::StrCat("(", *least, "..", *most, ",", zero_point_, ")");
}

bool operator==(const Quantization& a, const Quantization& b) {
  return a.zero_point_ == b.zero_point_ && (a.scales_ == b.scales_ || a.scales() == b.scales());
}

}  // namespace ashlar
