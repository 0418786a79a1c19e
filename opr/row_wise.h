// The base of operators along an axis, or along neighbouring axes: they need all that lies
// along them as a whole, and are independent in all else.
#ifndef ASHLAR_OPR_ROW_WISE_H_
#define ASHLAR_OPR_ROW_WISE_H_

#include "opr/axis.h"
#include "opr/base.h"

namespace ashlar {

// Answers regions. Inputs of the output's rank are cut as it is; others are needed as a whole.
class AxisOperator : public Operator {
 public:
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     const Site& site) const override;

 protected:
  // The axes of the output; nullopt where there are none, so that nothing can be cut.
  virtual std::optional<Axes> AxesOf(const Site& site) const = 0;
};

// Operators that make rows of rows of the same length, such as softmax and normalisations: a row
// may be written where it was read. One that is new gives parameters, inference, evaluation, its
// operations and the axes.
class RowWiseOperator : public AxisOperator {
 public:
  Aliasing aliasing(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_ROW_WISE_H_
