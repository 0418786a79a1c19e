#include "opr/base/window.h"

#include <algorithm>

namespace ashlar {
namespace {

// If every parameter is below this limit, no sum or product of them overflows.
constexpr int64_t kMaxParameter = std::numeric_limits<int32_t>::max();

// Shapes are inferred often: the name of the parameter, `prefix` + axis + `suffix`, is only made
// for an error.
absl::Status CheckRange(absl::string_view prefix, absl::string_view axis, absl::string_view suffix,
                        int64_t value, int64_t least) {
  if (value >= least && value <= kMaxParameter) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(prefix, axis, suffix, " is ", value, ", expected ",
                                                 least, " to ", kMaxParameter));
}

// Returns whether the image lies between two taps of a window that begins in the padding. Also
// returns true after kMostWindows such windows, more than real models have.
bool StraddlesInput(const WindowAxis& axis) {
  constexpr int64_t kMostWindows = int64_t{1} << 20;
  if (axis.dilation <= axis.input || axis.pad_begin <= 0 || axis.window == 1) return false;
  for (int64_t o = 0; o < axis.output && axis.Origin(o) < 0; ++o) {
    if (axis.Inside(o).begin >= axis.input || o == kMostWindows) return true;
  }
  return false;
}

}  // namespace

Range WindowAxis::Needed(const Range& outputs) const {
  const Range clipped = Intersection(Read(outputs), {0, input});
  if (!clipped.empty()) return clipped;
  const int64_t nearest = std::clamp<int64_t>(clipped.begin, 0, input - 1);
  return {nearest, nearest + 1};
}

absl::StatusOr<WindowAxis> CompleteWindowAxis(WindowAxis axis, absl::string_view suffix) {
  ASHLAR_RETURN_IF_ERROR(CheckRange("window_", suffix, "", axis.window, 1));
  ASHLAR_RETURN_IF_ERROR(CheckRange("stride_", suffix, "", axis.stride, 1));
  ASHLAR_RETURN_IF_ERROR(CheckRange("dilate_", suffix, "", axis.dilation, 1));
  if (axis.pad_end == kSamePadding) axis.pad_end = axis.pad_begin;
  const int64_t least = -kMaxParameter;
  ASHLAR_RETURN_IF_ERROR(CheckRange("pad_", suffix, "", axis.pad_begin, least));
  ASHLAR_RETURN_IF_ERROR(CheckRange("pad_", suffix, "_end", axis.pad_end, least));
  const int64_t padded = axis.input + axis.pad_begin + axis.pad_end;
  if (axis.extent() > padded) {
    return absl::InvalidArgumentError(absl::StrCat("window_", suffix, " is ", axis.window,
                                                   " (dilated: ", axis.extent(),
                                                   "), larger than the padded input of ", padded));
  }
  axis.output = (padded - axis.extent()) / axis.stride + 1;
  return axis;
}

absl::Status CheckWindowsTouchInput(const WindowAxis& axis, absl::string_view suffix) {
  if (axis.pad_begin < axis.extent() && axis.Origin(axis.output - 1) < axis.input &&
      !StraddlesInput(axis)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("pad_", suffix, " is ", axis.pad_begin, " and ",
                                                 axis.pad_end, " for windows of ", axis.window,
                                                 ": one lies wholly in the padding"));
}

}  // namespace ashlar
