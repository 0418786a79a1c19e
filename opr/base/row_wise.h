// The base of operators along one axis or along neighbouring axes. They need all elements along
// these axes; along all other axes they are independent.
#ifndef ASHLAR_OPR_BASE_ROW_WISE_H_
#define ASHLAR_OPR_BASE_ROW_WISE_H_

#include "opr/base/axis.h"
#include "opr/base/base.h"

namespace ashlar {

// Implements regions. Inputs of the output's rank are cut like the output; others are needed as a
// whole.
class AxisOperator : public Operator {
 public:
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     const Site& site) const override;

 protected:
  // Returns the axes of the output; nullopt if there are none, so that nothing can be cut.
  virtual std::optional<Axes> AxesOf(const Site& site) const = 0;
};

// Operators that compute rows from rows of the same length, such as softmax and normalisations. A
// row may overwrite the row it was computed from. A new subclass provides parameters, inference,
// evaluation, its operations and the axes.
class RowWiseOperator : public AxisOperator {
 public:
  Aliasing aliasing(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_ROW_WISE_H_
