// What operators along one axis have in common: they need what lies along it as a whole, and are
// independent in all else. All inputs have the output's rank.
#ifndef ASHLAR_OPR_ROW_WISE_H_
#define ASHLAR_OPR_ROW_WISE_H_

#include "opr/base.h"

namespace ashlar {

// Answers regions.
class AxisOperator : public Operator {
 public:
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     const Site& site) const override;

 protected:
  // The axis of the output; nullopt where there is none, so that nothing can be cut.
  virtual std::optional<int> AxisOf(const Site& site) const = 0;
};

// Operators that make rows of rows of the same length, such as softmax and normalisations: a row
// may be written where it was read. One that is new gives parameters, inference, evaluation, its
// operations and the axis.
class RowWiseOperator : public AxisOperator {
 public:
  Aliasing aliasing(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_ROW_WISE_H_
