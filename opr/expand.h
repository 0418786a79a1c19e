// Expand: repeats a tensor along dimensions of size 1, and along new ones.
#ifndef ASHLAR_OPR_EXPAND_H_
#define ASHLAR_OPR_EXPAND_H_

#include "opr/base/moving.h"
#include "opr/base/regions.h"

namespace ashlar {

// Returns the shape of the output of an Expand with these inputs.
absl::StatusOr<Shape> ExpandedShape(absl::Span<const InputInfo> inputs);

// Inputs: x, of any dtype, and a shape, an integer vector known before the run. Output: both
// broadcast (graph/shape.h), so a 1 in the shape keeps a larger dimension of x.
class Expand final : public OperatorWithParam<NoParam, MovingOperator> {
 public:
  ASHLAR_OPERATOR("Expand", "expand")
  absl::Status Gradient(GradientContext& context) const override;
  InputUse input_use(int input) const override {
    return input == 0 ? InputUse::kDeviceValue : InputUse::kHostValue;
  }
  Aliasing aliasing(const Site& site) const override;
  ASHLAR_CUTS_OUTPUT()
  // Multiplies by ones. Not for Int64, whose products are computed as doubles, nor for Byte.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_EXPAND_H_
