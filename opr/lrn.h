// LRN: local response normalisation across channels.
#ifndef ASHLAR_OPR_LRN_H_
#define ASHLAR_OPR_LRN_H_

#include "opr/base/row_wise.h"

namespace ashlar {

// Names, defaults and meaning are ONNX's.
struct LRNParam {
  int64_t size =
      5;  // channels in a window; if even, the window has one more channel after the centre
  double alpha = 1e-4;
  double beta = 0.75;
  double bias = 1;

  template <typename V>
  void Visit(V& v) {
    v("size", size);
    v("alpha", alpha);
    v("beta", beta);
    v("bias", bias);
  }
};

// y[c] = x[c] / (bias + alpha / size * sum of x[i]^2)^beta for the existing channels i in [c -
// floor((size - 1) / 2), c + ceil((size - 1) / 2)]. Input and output: [N, C, H, W], floats; sums of
// 16-bit floats are in Float32.
class LRN final : public OperatorWithParam<LRNParam, AxisOperator> {
 public:
  ASHLAR_OPERATOR("LRN", "lrn")
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site&) const override {
    return {.format = FormatRule::kBlocked, .precision = PrecisionRule::kFollow};
  }

 protected:
  std::optional<Axes> AxesOf(const Site&) const override { return Only(1); }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_LRN_H_
