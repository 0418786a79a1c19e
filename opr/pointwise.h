// The base of pointwise operators: each element of the output follows from those at its
// place in the inputs, which broadcast to it. One that is new gives parameters, inference,
// evaluation and its operations; regions, overwriting and storage are answered here.
#ifndef ASHLAR_OPR_POINTWISE_H_
#define ASHLAR_OPR_POINTWISE_H_

#include "opr/base.h"

namespace ashlar {

class PointwiseOperator : public Operator {
 public:
  // As the inputs are: in formats where all of them have at most four dimensions, in precision
  // always.
  StorageRules storage_rules(const Site& site) const override;
  Aliasing aliasing(const Site& site) const override;
  bool is_pointwise() const override { return true; }
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_POINTWISE_H_
