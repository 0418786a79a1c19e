// Dimshuffle: axes permuted, dropped and added.
#ifndef ASHLAR_OPR_DIMSHUFFLE_H_
#define ASHLAR_OPR_DIMSHUFFLE_H_

#include "opr/base/base.h"
#include "opr/base/strided.h"

namespace ashlar {

struct DimshuffleParam {
  // For each output axis the input axis, or -1 for a new one of size 1. Input axes that are not
  // listed must have size 1 and are dropped.
  std::vector<int64_t> pattern;

  template <typename V>
  void Visit(V& v) {
    v("pattern", pattern);
  }
};

class Dimshuffle final : public OperatorWithParam<DimshuffleParam> {
 public:
  ASHLAR_OPERATOR("Dimshuffle", "dimshuffle")
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site&) const override {
    return {.precision = PrecisionRule::kFollow, .moves = true};
  }
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  int64_t Computation(const Site& site) const override;
  Aliasing aliasing(const Site& site) const override;
  std::optional<Movement> AsMovement(absl::Span<const InputInfo> inputs) const override;

  // Returns the strides that read an input with strides `input` in the order of the output.
  Strides Permuted(const Strides& input) const;

 private:
  // Returns whether the elements of an input of this shape stay in row-major order.
  bool KeepsOrder(const Shape& input) const;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_DIMSHUFFLE_H_
