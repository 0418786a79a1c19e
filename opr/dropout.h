// Dropout (Srivastava et al. 2014, "Dropout"): sets random elements to zero during training.
#ifndef ASHLAR_OPR_DROPOUT_H_
#define ASHLAR_OPR_DROPOUT_H_

#include "opr/base/base.h"
#include "opr/base/dropout_mask.h"

namespace ashlar {

struct DropoutParam {
  double probability = 0.5;  // the probability that an element becomes zero, in [0, 1)
  int64_t seed = 0;

  template <typename V>
  void Visit(V& v) {
    v("probability", probability);
    v("seed", seed);
  }
};

// Elements that stay are divided by the probability of staying. Inputs: x, floats; the step number,
// one Int32 or Int64, which varies the mask. Output: x's type; it may overwrite x.
class Dropout final : public OperatorWithParam<DropoutParam> {
 public:
  static constexpr int kX = 0, kStep = 1;

  ASHLAR_OPERATOR("Dropout", "dropout")
  absl::Status Gradient(GradientContext& context) const override;
  int64_t Computation(const Site& site) const override;
  Aliasing aliasing(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_DROPOUT_H_
