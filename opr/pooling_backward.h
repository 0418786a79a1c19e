// PoolingBackward: the gradient with respect to the input of a pooling.
#ifndef ASHLAR_OPR_POOLING_BACKWARD_H_
#define ASHLAR_OPR_POOLING_BACKWARD_H_

#include "opr/pooling.h"

namespace ashlar {

// Infers the forward pooling. `diff` is the gradient of its output. InvalidArgument for the errors
// of InferPooling, or if `diff` does not have the output's type.
absl::StatusOr<PoolingGeometry> InferPoolingBackward(const PoolingParam& param,
                                                     const TensorType& src, const TensorType& diff);

// Inputs: the image that was pooled (means need only its shape) and the gradient of the pooling's
// output. Output: src's type. For maxima, an element of diff goes to the first maximum of its
// window in row-major order. If there is a NaN, it goes to the first NaN. For means, it is divided
// by the mean's divisor and added to all elements of the window inside the image.
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
