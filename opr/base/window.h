// The geometry of a window that slides over an image, for convolution and pooling.
#ifndef ASHLAR_OPR_BASE_WINDOW_H_
#define ASHLAR_OPR_BASE_WINDOW_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/region.h"
#include "graph/shape.h"
#include "graph/status.h"

namespace ashlar {

// For pad_h_end and pad_w_end: as much padding at the end as at the start.
inline constexpr int64_t kSamePadding = std::numeric_limits<int64_t>::min();

// The taps of a window inside the image: positions begin, begin + step, ... before end.
struct InsideTaps {
  int64_t begin = 0, end = 0, step = 1;

  int64_t count() const { return CeilDivide(end - begin, step); }
};

// One spatial axis, in elements. Output o reads the input at o * stride - pad_begin + tap *
// dilation for tap in [0, window). Negative padding crops: windows then begin or end inside the
// input.
struct WindowAxis {
  int64_t input = 0;
  int64_t window = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  int64_t output = 0;  // floor((input + pad_begin + pad_end - extent()) / stride) + 1

  // Returns the input elements from the first tap to the last, both included.
  int64_t extent() const { return dilation * (window - 1) + 1; }
  // Returns whether one window is the whole input.
  bool is_whole() const {
    return output == 1 && window == input && dilation == 1 && pad_begin == 0 && pad_end == 0;
  }
  bool padded() const { return pad_begin > 0 || pad_end > 0; }
  // Returns the position of output o's first tap; negative in the padding.
  int64_t Origin(int64_t o) const { return o * stride - pad_begin; }

  // Returns the input elements that output o reads; at least one if CheckWindowsTouchInput
  // succeeds.
  InsideTaps Inside(int64_t o) const {
    const int64_t first = Origin(o), skipped = first < 0 ? CeilDivide(-first, dilation) : 0;
    return {first + skipped * dilation, std::min(first + extent(), input), dilation};
  }
  // Returns the inputs that `outputs` read, not clipped.
  Range Read(const Range& outputs) const {
    return {Origin(outputs.begin), Origin(outputs.end - 1) + extent()};
  }
  // Returns Read clipped to the input. If windows are entirely in the padding, returns the input
  // element next to them.
  Range Needed(const Range& outputs) const;
  // Returns the range from the first to the last output that reads `inputs`, not clipped.
  Range Touching(const Range& inputs) const {
    return {CeilDivide(inputs.begin + pad_begin - (extent() - 1), stride),
            FloorDivide(inputs.end - 1 + pad_begin, stride) + 1};
  }
  // Returns the outputs whose taps are all inside the input; may be empty.
  Range Whole() const {
    const int64_t begin = std::clamp<int64_t>(CeilDivide(pad_begin, stride), 0, output);
    const int64_t end = FloorDivide(input + pad_begin - extent(), stride) + 1;
    return {begin, std::clamp(end, begin, output)};
  }
  // Returns the outputs whose tap `tap` is inside the input; may be empty.
  Range OutputsInside(int64_t tap) const {
    const int64_t before = pad_begin - tap * dilation;  // output o reads o * stride - before
    const int64_t begin = std::max<int64_t>(0, CeilDivide(before, stride));
    const int64_t end = std::min(output, CeilDivide(input + before, stride));
    return {begin, std::max(begin, end)};
  }
  // Returns the padding, positive or negative, with which the input range `given` gives exactly
  // `outputs`.
  int64_t PadBefore(const Range& outputs, const Range& given) const {
    return given.begin - Origin(outputs.begin);
  }
  int64_t PadBehind(const Range& outputs, const Range& given) const {
    return Read(outputs).end - given.end;
  }
};

// Both spatial axes of an image.
struct WindowAxes {
  WindowAxis h, w;
};

struct WindowPadding {
  int64_t h_begin = 0, h_end = 0, w_begin = 0, w_end = 0;
};

// Visits strides and padding as parameters of a window operator (graph/params.h).
template <typename V, typename Param>
void VisitSteps(V& v, Param& param) {
  v("stride_h", param.stride_h);
  v("stride_w", param.stride_w);
  v("pad_h", param.pad_h);
  v("pad_w", param.pad_w);
  v.Optional("pad_h_end", param.pad_h_end, kSamePadding);
  v.Optional("pad_w_end", param.pad_w_end, kSamePadding);
}

// Completes `axis` (all given except `output`; pad_end may be kSamePadding). Errors name the
// parameters by `suffix`, "h" or "w": "stride_h is 0, expected at least 1".
absl::StatusOr<WindowAxis> CompleteWindowAxis(WindowAxis axis, absl::string_view suffix);

// Returns both axes of an image [N, C, H, W], with the strides and padding of `param`. `window` and
// `dilation` are {h, w}.
template <typename Param>
absl::StatusOr<WindowAxes> WindowAxesOf(const Shape& image, const Param& param,
                                        std::array<int64_t, 2> window,
                                        std::array<int64_t, 2> dilation = {1, 1}) {
  ASHLAR_ASSIGN_OR_RETURN(
      const WindowAxis h,
      CompleteWindowAxis(
          {image[2], window[0], param.stride_h, dilation[0], param.pad_h, param.pad_h_end}, "h"));
  ASHLAR_ASSIGN_OR_RETURN(
      const WindowAxis w,
      CompleteWindowAxis(
          {image[3], window[1], param.stride_w, dilation[1], param.pad_w, param.pad_w_end}, "w"));
  return WindowAxes{h, w};
}

// InvalidArgument if a window is entirely in the padding, so that it has no element to reduce.
absl::Status CheckWindowsTouchInput(const WindowAxis& axis, absl::string_view suffix);

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_WINDOW_H_
