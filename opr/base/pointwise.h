// The base of pointwise operators: each output element depends on the elements at its position in
// the inputs, which broadcast to the output. Implements regions, overwriting and storage. A new
// subclass provides parameters, inference, evaluation and its operations.
#ifndef ASHLAR_OPR_BASE_POINTWISE_H_
#define ASHLAR_OPR_BASE_POINTWISE_H_

#include "opr/base/base.h"

namespace ashlar {

class PointwiseOperator : public Operator {
 public:
  // Follows the inputs: their format if all have at most four dimensions, their precision always.
  StorageRules storage_rules(const Site& site) const override;
  Aliasing aliasing(const Site& site) const override;
  bool is_pointwise() const override { return true; }
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_POINTWISE_H_
