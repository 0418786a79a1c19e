#include "opr/conv_param.h"

#include "opr/base/checks.h"
#include "opr/conv_filter.h"

namespace ashlar {

absl::StatusOr<ConvolutionGeometry> InferConvolution(const ConvolutionParam& param,
                                                     const TensorType& src,
                                                     const TensorType& filter) {
  ASHLAR_ASSIGN_OR_RETURN(const FilterShape f,
                          FilterShapeOf(param.sparse, FilterOrder::kOutIn, src, filter));
  ASHLAR_ASSIGN_OR_RETURN(const WindowAxes windows, WindowAxesOf(src.shape, param, {f.h, f.w},
                                                                 {param.dilate_h, param.dilate_w}));
  const ConvolutionGeometry geometry = {windows, src.shape[0], f.groups, f.in_channels,
                                        f.out_channels};
  ASHLAR_RETURN_IF_ERROR(Shape::Make(geometry.output().dims()).status());
  ASHLAR_RETURN_IF_ERROR(CheckMadeOfElements("input", src, geometry.output()));
  return geometry;
}

}  // namespace ashlar
