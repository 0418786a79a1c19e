// LRNBackward: the gradient with respect to the input of LRN.
#ifndef ASHLAR_OPR_LRN_BACKWARD_H_
#define ASHLAR_OPR_LRN_BACKWARD_H_

#include "opr/lrn.h"

namespace ashlar {

// Inputs: x, the input of LRN, and the gradient with respect to its output, images of one type. The
// output has their type. With s[c] = bias + alpha / size * sum of x[i]^2 over the window of c,
//   dx[c] = diff[c] s[c]^-beta - 2 alpha / size beta x[c] sum of diff[i] x[i] s[i]^(-beta-1)
// over the channels i whose windows contain c.
class LRNBackward final : public OperatorWithParam<LRNParam, AxisOperator> {
 public:
  static constexpr int kX = 0, kDiff = 1;

  ASHLAR_OPERATOR("LRNBackward", "lrn_grad")
  StorageRules storage_rules(const Site&) const override {
    return {.precision = PrecisionRule::kFollow};
  }
  int64_t Computation(const Site& site) const override;
  // Computes sums over windows as products with a matrix of ones and zeros.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;

 protected:
  std::optional<Axes> AxesOf(const Site&) const override { return Only(1); }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_LRN_BACKWARD_H_
