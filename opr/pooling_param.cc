#include "opr/pooling_param.h"

#include "opr/base/checks.h"

namespace ashlar {

absl::StatusOr<PoolingGeometry> InferPooling(const PoolingParam& param, const TensorType& src) {
  ASHLAR_RETURN_IF_ERROR(IsQuantized(src.dtype) ? CheckBytesImage("input", src)
                                                : CheckImage("input", src));
  PoolingGeometry geometry;
  geometry.batch = src.shape[0];
  geometry.channels = src.shape[1];
  ASHLAR_ASSIGN_OR_RETURN(static_cast<WindowAxes&>(geometry),
                          WindowAxesOf(src.shape, param, {param.window_h, param.window_w},
                                       {param.dilate_h, param.dilate_w}));
  ASHLAR_RETURN_IF_ERROR(CheckWindowsTouchInput(geometry.h, "h"));
  ASHLAR_RETURN_IF_ERROR(CheckWindowsTouchInput(geometry.w, "w"));
  ASHLAR_RETURN_IF_ERROR(Shape::Make(geometry.output().dims()).status());
  ASHLAR_RETURN_IF_ERROR(CheckMadeOfElements("input", src, geometry.output()));
  return geometry;
}

}  // namespace ashlar
