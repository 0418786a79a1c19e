// Softmax along one axis.
#ifndef ASHLAR_OPR_SOFTMAX_H_
#define ASHLAR_OPR_SOFTMAX_H_

#include "opr/base/row_wise.h"

namespace ashlar {

struct SoftmaxParam {
  int64_t axis = -1;  // negative: from the last dimension

  template <typename V>
  void Visit(V& v) {
    v("axis", axis);
  }
};

// Returns the output dtype of exponentials along an axis: Float64 for Float64, otherwise Float32.
inline DType SoftmaxDType(DType input) {
  return input == DType::kFloat64 ? input : DType::kFloat32;
}

// exp(x - max) / sum of exp(x - max), maximum and sum along the axis. Input: floats of rank 1 or
// more. Output: SoftmaxDType.
class Softmax final : public OperatorWithParam<SoftmaxParam, RowWiseOperator> {
 public:
  ASHLAR_OPERATOR("Softmax", "softmax")
  absl::Status Gradient(GradientContext& context) const override;

 protected:
  std::optional<Axes> AxesOf(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_SOFTMAX_H_
