// Elemwise: a scalar function applied to each element, with broadcasting.
#ifndef ASHLAR_OPR_ELEMWISE_H_
#define ASHLAR_OPR_ELEMWISE_H_

#include "opr/base.h"
#include "opr/scalar_functions.h"

namespace ashlar {

// A scalar function with its parameters.
struct ElemwiseParam {
  ScalarFunction mode = ScalarFunction::kRelu;
  ScalarParameters parameters = {0, 6};  // by number; the defaults are those of CLAMP

  template <typename V>
  void Visit(V& v) {
    v("mode", mode, kScalarFunctionNames);
    const ScalarRow& row = RowOf(mode);
    for (int i = 0; i < row.num_parameters; ++i) {
      v.Optional(row.parameters[i], parameters[i], row.defaults[i]);
    }
  }
};

// What a function means for numbers; arguments beyond its arity are ignored.
double Apply(const ElemwiseParam& param, double a, double b = 0, double c = 0);

// The inputs broadcast to the output's shape (trailing dimensions aligned) and have its dtype.
class Elemwise final : public OperatorWithParam<ElemwiseParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "Elemwise"; }
  std::string base_name() const override;
  PrecisionRule precision_rule() const override;
  FormatRule format_rule(absl::Span<const TensorType> inputs) const override;
  bool allows_empty_output() const override { return true; }
  InferRule value_rule(int num_inputs) const override { return InferRule::ValuesOf(num_inputs); }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
  std::optional<std::vector<Region>> InputRegions(
      const Region& output, absl::Span<const InputInfo> inputs,
      absl::Span<const TensorType> outputs) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     absl::Span<const InputInfo> inputs,
                                     absl::Span<const TensorType> outputs) const override;
  int64_t Computation(absl::Span<const TensorType> inputs,
                      absl::Span<const TensorType> outputs) const override;
  std::vector<int> WritableForward(absl::Span<const TensorType> inputs,
                                   absl::Span<const TensorType> outputs) const override;
  std::optional<ChannelAffine> AsChannelAffine(absl::Span<const InputInfo> inputs) const override;
  std::optional<Replacement> Chain(const Operator& consumer, int via,
                                   absl::Span<const InputInfo> inputs,
                                   absl::Span<const InputInfo> consumer_inputs) const override;
};

// What inputs of one dtype broadcast to; InvalidArgument, naming the input, where they do not.
absl::StatusOr<TensorType> BroadcastInputs(absl::Span<const InputInfo> inputs);

}  // namespace ashlar

#endif  // ASHLAR_OPR_ELEMWISE_H_
