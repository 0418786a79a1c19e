// Elemwise: a scalar function applied to each element, with broadcasting.
#ifndef ASHLAR_OPR_ELEMWISE_H_
#define ASHLAR_OPR_ELEMWISE_H_

#include "opr/base.h"

namespace ashlar {

enum class ElemwiseMode {
  // One input.
  kRelu,
  kExp,
  kLog,
  kSqrt,
  kAbs,
  kNegate,
  kSigmoid,
  kTanh,
  kClamp,   // to [lo, hi]
  kHSwish,  // x * clamp(x + 3, 0, 6) / 6
  // Two inputs.
  kAdd,
  kSub,
  kMul,
  kTrueDiv,
  kMax,
  kMin,
  kPow,
  kFuseAddRelu,
  kFuseAddSigmoid,
  kFuseAddTanh,
  // Three inputs.
  kFuseMulAdd3,  // a * b + c
};

// "FUSE_ADD_RELU", in the order of the enumeration.
absl::Span<const char* const> ElemwiseModeNames();

struct ElemwiseParam {
  ElemwiseMode mode = ElemwiseMode::kRelu;
  double lo = 0, hi = 6;  // the bounds of CLAMP; the defaults are those of ReLU6

  template <typename V>
  void Visit(V& v) {
    v("mode", mode, ElemwiseModeNames());
    v.Optional("lo", lo, 0.0);
    v.Optional("hi", hi, 6.0);
  }
};

// Number of inputs.
int Arity(ElemwiseMode mode);
// Whether the first two inputs may change places.
bool IsCommutative(ElemwiseMode mode);
// What a mode means for scalars; arguments beyond its arity are ignored. MAX, MIN, RELU and CLAMP
// hand a NaN on.
double Apply(const ElemwiseParam& param, double a, double b = 0, double c = 0);

// The inputs broadcast to the output's shape (trailing dimensions aligned) and have its dtype.
class Elemwise final : public OperatorWithParam<ElemwiseParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "Elemwise"; }
  std::string base_name() const override;
  // EXP, LOG, POW and TRUE_DIV stay in Float32.
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
