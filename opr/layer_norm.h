// LayerNorm: normalises rows by their own mean and variance.
#ifndef ASHLAR_OPR_LAYER_NORM_H_
#define ASHLAR_OPR_LAYER_NORM_H_

#include "opr/base/row_wise.h"

namespace ashlar {

struct LayerNormParam {
  int64_t axis =
      -1;  // the first normalised axis; all later axes are normalised, too; negative: from the end
  double epsilon = 1e-5;

  template <typename V>
  void Visit(V& v) {
    v("axis", axis);
    v("epsilon", epsilon);
  }
};

// (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and (biased) variance of the
// elements along the axes from `axis` on. Inputs: x, floats of rank 1 or more; optional scale and
// bias, with x's dtype and the shape of the normalised axes. Output: x's type.
class LayerNorm final : public OperatorWithParam<LayerNormParam, RowWiseOperator> {
 public:
  static constexpr int kX = 0, kScale = 1, kBias = 2;

  ASHLAR_OPERATOR("LayerNorm", "layer_norm")
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;

 protected:
  std::optional<Axes> AxesOf(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_LAYER_NORM_H_
