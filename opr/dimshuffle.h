// Dimshuffle: axes permuted, dropped and added.
#ifndef ASHLAR_OPR_DIMSHUFFLE_H_
#define ASHLAR_OPR_DIMSHUFFLE_H_

#include "opr/base.h"
#include "opr/strided.h"

namespace ashlar {

struct DimshuffleParam {
  // For each output axis the input axis, or -1 for a new one of size 1. Input axes that are not
  // listed have size 1 and go away.
  std::vector<int64_t> pattern;

  template <typename V>
  void Visit(V& v) {
    v("pattern", pattern);
  }
};

class Dimshuffle final : public OperatorWithParam<DimshuffleParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "Dimshuffle"; }
  std::string base_name() const override { return "dimshuffle"; }
  PrecisionRule precision_rule() const override { return PrecisionRule::kFollow; }
  bool allows_empty_output() const override { return true; }
  InferRule value_rule(int num_inputs) const override { return InferRule::ValuesOf(num_inputs); }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
  std::optional<std::vector<Region>> InputRegions(
      const Region& output, absl::Span<const InputInfo> inputs,
      absl::Span<const TensorType> outputs) const override;
  int64_t Computation(absl::Span<const TensorType> inputs,
                      absl::Span<const TensorType> outputs) const override;
  std::optional<View> ReadonlyForward(absl::Span<const InputInfo> inputs,
                                      absl::Span<const TensorType> outputs) const override;

  // The strides that walk an input with the strides `input` in the order of the output.
  Strides Permuted(const Strides& input) const;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_DIMSHUFFLE_H_
