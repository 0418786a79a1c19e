// Operators along the axis that their parameter `axis` names.
#ifndef ASHLAR_OPR_BASE_ALONG_AXIS_H_
#define ASHLAR_OPR_BASE_ALONG_AXIS_H_

#include "opr/base/row_wise.h"

namespace ashlar {

// An AxisOperator `Base` of the operator `Op`: the axis is the output's.
template <typename Op, typename Base>
class AlongAxis : public Base {
 protected:
  std::optional<Axes> AxesOf(const Site& site) const override {
    return AxisIn(static_cast<const Op&>(*this).param().axis, site.outputs[0].shape);
  }
};

// Returns the axis in [0, rank) of the input. InvalidArgument unless there is one input, which has
// the axis.
inline absl::StatusOr<int> AxisOfOnlyInput(absl::Span<const InputInfo> inputs, int64_t axis) {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  return NormalizeAxis(axis, inputs[0].type.shape.rank());
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_ALONG_AXIS_H_
