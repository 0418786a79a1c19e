// The filter of a convolution of images, forward or backward: the checks that both share.
#ifndef ASHLAR_OPR_CONV_FILTER_H_
#define ASHLAR_OPR_CONV_FILTER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/tensor.h"
#include "opr/base/param_enums.h"

namespace ashlar {

// Which channels a filter lists first after its groups.
enum class FilterOrder { kOutIn, kInOut };

struct FilterShape {
  int64_t groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of a group
  int64_t h = 0, w = 0;
};

// Returns the shape of a filter for the image `src` [N, C, H, W]. The filter is [oc, ic, fh, fw],
// with a leading group dimension if `sparse` is kGroup. InvalidArgument if dtypes, ranks or
// channels do not match.
absl::StatusOr<FilterShape> FilterShapeOf(SparseMode sparse, FilterOrder order,
                                          const TensorType& src, const TensorType& filter);

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONV_FILTER_H_
