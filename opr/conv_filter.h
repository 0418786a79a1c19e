// The filter of a convolution of images, forward or back, as far as both read it alike.
#ifndef ASHLAR_OPR_CONV_FILTER_H_
#define ASHLAR_OPR_CONV_FILTER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "opr/convolution.h"

namespace ashlar {

// Which channels a filter lists first, behind its groups.
enum class FilterOrder { kOutIn, kInOut };

struct FilterShape {
  int64_t groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of a group
  int64_t h = 0, w = 0;
};

// Of [oc, ic, fh, fw], or with a dimension of groups before it where `sparse` is kGroup, beside the
// image `src`, [N, C, H, W]. Errors are InvalidArgument: dtypes, ranks, or channels that differ.
absl::StatusOr<FilterShape> FilterShapeOf(SparseMode sparse, FilterOrder order,
                                          const TensorType& src, const TensorType& filter);

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONV_FILTER_H_
