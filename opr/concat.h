// Concat: joins tensors along an axis.
#ifndef ASHLAR_OPR_CONCAT_H_
#define ASHLAR_OPR_CONCAT_H_

#include "opr/base/row_wise.h"

namespace ashlar {

struct ConcatParam {
  int64_t axis = 0;  // negative: from the end

  template <typename V>
  void Visit(V& v) {
    v("axis", axis);
  }
};

// One or more inputs of one dtype, with equal dimensions except along the axis.
class Concat final : public OperatorWithParam<ConcatParam, AxisOperator> {
 public:
  ASHLAR_OPERATOR("Concat", "concat")
  absl::Status Gradient(GradientContext& context) const override;
  // Blocked formats are used only if every input consists of whole channel blocks.
  StorageRules storage_rules(const Site& site) const override;
  int64_t Computation(const Site& site) const override;
  Aliasing aliasing(const Site& site) const override;

 protected:
  std::optional<Axes> AxesOf(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONCAT_H_
