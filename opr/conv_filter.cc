#include "opr/conv_filter.h"

#include "graph/status.h"
#include "opr/base/checks.h"

namespace ashlar {

absl::StatusOr<FilterShape> FilterShapeOf(SparseMode sparse, FilterOrder order,
                                          const TensorType& src, const TensorType& filter) {
  const bool quantized = IsQuantized(src.dtype);
  ASHLAR_RETURN_IF_ERROR(quantized ? CheckBytesImage("input", src) : CheckImage("input", src));
  ASHLAR_RETURN_IF_ERROR(CheckDType("filter", filter, quantized ? DType::kQuantizedS8 : src.dtype));
  ASHLAR_RETURN_IF_ERROR(CheckNotEmpty("filter", filter));
  const bool grouped = sparse == SparseMode::kGroup, out_first = order == FilterOrder::kOutIn;
  if (filter.shape.rank() != (grouped ? 5 : 4)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "filter is ", filter.ToString(), ", expected rank ", grouped ? "5 (groups, " : "4 (",
        out_first ? "oc, ic" : "ic, oc", grouped ? ", fh, fw) as sparse is GROUP" : ", fh, fw)"));
  }
  const int first = grouped ? 1 : 0;  // the dimension of the first channels
  FilterShape shape;
  shape.groups = grouped ? filter.shape[0] : 1;
  shape.in_channels = filter.shape[out_first ? first + 1 : first];
  shape.out_channels = filter.shape[out_first ? first : first + 1];
  shape.h = filter.shape[first + 2];
  shape.w = filter.shape[first + 3];
  if (src.shape[1] != shape.groups * shape.in_channels) {
    return absl::InvalidArgumentError(
        absl::StrCat("input has ", src.shape[1], " channels, filter expects ", shape.in_channels,
                     " x groups(", shape.groups, ") = ", shape.groups * shape.in_channels));
  }
  return shape;
}

}  // namespace ashlar
