// ResizeBytes: samples 8-bit images at other points, linearly, in fixed-point numbers.
#ifndef ASHLAR_OPR_RESIZE_BYTES_H_
#define ASHLAR_OPR_RESIZE_BYTES_H_

#include <memory>
#include <utility>
#include <vector>

#include "opr/base/base.h"
#include "opr/resize_operator.h"

namespace ashlar {

// Inputs: x [N, C, H, W], not empty, of 8 quantised bits; the target as in Resize. Output: x's
// dtype and quantisation.
//
// Computes with the integers, to the bit as XNNPACK does (opr/base/fixed_point_resize.h). Positions
// are Float32 numbers: o * s + (s / 2 - 1 / 2) for HALF_PIXEL, o * s for ASYMMETRIC and
// ALIGN_CORNERS. s is the quotient of inputs and outputs, for ALIGN_CORNERS of one less each.
// Weights are rounded to multiples of 2^-11, half to even. The sum of four products is exact and is
// rounded once, a half up.
//
// The parameters are Resize's: LINEAR, along axes 2 and 3, in one of these coordinates, without
// filters for shrinking. Others are InvalidArgument.
class ResizeBytes final : public OperatorWithParam<ResizeParam, ResizeOperator> {
 public:
  ASHLAR_OPERATOR("ResizeBytes", "resize")

 protected:
  const ResizeParam& resize() const override { return param(); }
  OperatorPtr With(ResizeParam given) const override {
    return std::make_shared<const ResizeBytes>(std::move(given));
  }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_RESIZE_BYTES_H_
