// The geometry of a window that slides over an image: convolution and pooling.
#ifndef ASHLAR_OPR_WINDOW_H_
#define ASHLAR_OPR_WINDOW_H_

#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/shape.h"

namespace ashlar {

// In pad_h_end and pad_w_end: as much padding at the end as at the beginning.
inline constexpr int64_t kSamePadding = std::numeric_limits<int64_t>::min();

// One spatial axis. Sizes in elements; output o reads the input at
// o * stride - pad_begin + tap * dilation for tap in [0, window).
struct WindowAxis {
  int64_t input = 0;
  int64_t window = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  int64_t output = 0;  // floor((input + pad_begin + pad_end - extent()) / stride) + 1

  // Input elements from the first tap to the last, both included.
  int64_t extent() const { return dilation * (window - 1) + 1; }
  // Where output o's first tap lies; negative in the padding.
  int64_t Origin(int64_t o) const { return o * stride - pad_begin; }
};

// Completes `axis` (all but `output` given; pad_end may be kSamePadding). Errors name the
// parameters by `suffix`, "h" or "w": "stride_h is 0, expected at least 1".
absl::StatusOr<WindowAxis> CompleteWindowAxis(WindowAxis axis, absl::string_view suffix);

// InvalidArgument where a window lies wholly in the padding, so that it has no element to reduce.
absl::Status CheckWindowsTouchInput(const WindowAxis& axis, absl::string_view suffix);

}  // namespace ashlar

#endif  // ASHLAR_OPR_WINDOW_H_
