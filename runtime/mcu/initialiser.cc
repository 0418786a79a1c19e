#include "runtime/mcu/initialiser.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace ashlar::mcu {

std::string FloatText(float value) {
  if (std::isinf(value)) return value > 0 ? "(1.0f / 0.0f)" : "(-1.0f / 0.0f)";
  if (std::isnan(value)) return "(0.0f / 0.0f)";
  return absl::StrFormat("%af", value);
}

}  // namespace ashlar::mcu
