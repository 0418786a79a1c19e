// PoolingBackward: the gradient by the input of a pooling.
#ifndef ASHLAR_OPR_POOLING_BACKWARD_H_
#define ASHLAR_OPR_POOLING_BACKWARD_H_

#include "opr/pooling.h"

namespace ashlar {

// The pooling that goes back. `diff` is the gradient of its output; errors are InvalidArgument,
// the errors of InferPooling, or `diff` has another type than the output.
absl::StatusOr<PoolingGeometry> InferPoolingBackward(const PoolingParam& param,
                                                     const TensorType& src, const TensorType& diff);

// Inputs: the image that was pooled, of which means need only the shape; the gradient of what the
// pooling made. Output: src's type. An element of diff goes to the first maximum of its window in
// row-major order (the first NaN where there is one), or in equal parts, by the divisor of the
// mean, to all of the window that lies in the image.
class PoolingBackward final : public OperatorWithParam<PoolingParam> {
 public:
  static constexpr int kSrc = 0, kDiff = 1;

  ASHLAR_OPERATOR("PoolingBackward", "pooling_grad")
  InputUse input_use(int input) const override {
    return input == kSrc && param().mode != PoolingMode::kMax ? InputUse::kShape
                                                              : InputUse::kDeviceValue;
  }
  StorageRules storage_rules(const Site&) const override {
    return {.format = FormatRule::kFollow, .precision = PrecisionRule::kFollow};
  }
  int64_t Computation(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_POOLING_BACKWARD_H_
