// Resize: samples a tensor at other points along some of its axes.
#ifndef ASHLAR_OPR_RESIZE_H_
#define ASHLAR_OPR_RESIZE_H_

#include <memory>
#include <utility>
#include <vector>

#include "opr/base/base.h"
#include "opr/resize_operator.h"

namespace ashlar {

// Inputs: x, not empty; the target, by axis of `axes`; with kTfCropAndResize, the region of x to
// resize. Target and region are known before the run.
// - The target is a vector of new sizes (Int32, Int64) or of scales (Float32). For a scale, a size
//   is floor(size * scale), or with rounds_sizes the nearest to the product.
// - The region is a Float32 vector in [0, 1]: its starts by axis, then its ends.
//
// Linear and cubic accept floats, kNearest any dtype. Output: x's dtype.
class Resize final : public OperatorWithParam<ResizeParam, ResizeOperator> {
 public:
  ASHLAR_OPERATOR("Resize", "resize")
  // For floats, products with matrices of weights.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;

 protected:
  const ResizeParam& resize() const override { return param(); }
  OperatorPtr With(ResizeParam given) const override {
    return std::make_shared<const Resize>(std::move(given));
  }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_RESIZE_H_
