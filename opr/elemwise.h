// Elemwise: a scalar function applied to each element, with broadcasting.
#ifndef ASHLAR_OPR_ELEMWISE_H_
#define ASHLAR_OPR_ELEMWISE_H_

#include "opr/base/pointwise.h"
#include "opr/base/scalar_functions.h"

namespace ashlar {

// A scalar function with its parameters; the defaults come from its table row.
struct ElemwiseParam {
  ScalarFunction mode = ScalarFunction::kRelu;
  ScalarParameters parameters = DefaultsOf(mode);  // by number

  template <typename V>
  void Visit(V& v) {
    v("mode", mode, kScalarFunctionNames);
    const ScalarRow& row = RowOf(mode);
    for (int i = 0; i < row.num_parameters; ++i) {
      v.Optional(row.parameters[i], parameters[i], row.defaults[i]);
    }
  }
};

// Sums and exponentials stay in Float32.
PrecisionRule PrecisionOf(ScalarFunction function);
// Returns the function's value; arguments beyond its arity are ignored.
double Apply(const ElemwiseParam& param, double a, double b = 0, double c = 0);

// Returns whether kernels compute this function of several tensors in 8 bits: it consists of few
// operations, which are rounded alike everywhere.
constexpr bool HasByteFunction(ScalarFunction mode) {
  switch (mode) {
    case ScalarFunction::kAdd:
    case ScalarFunction::kFuseAddRelu:
    case ScalarFunction::kSub:
    case ScalarFunction::kMul:
    case ScalarFunction::kTrueDiv:
    case ScalarFunction::kMax:
    case ScalarFunction::kMin:
    case ScalarFunction::kPRelu:
    case ScalarFunction::kFuseMulAdd3:
      return true;
    default:
      return false;
  }
}

// The inputs broadcast to the output's shape (trailing dimensions aligned) and have its dtype.
class Elemwise final : public OperatorWithParam<ElemwiseParam, PointwiseOperator> {
 public:
  ASHLAR_OPERATOR("Elemwise", RowOf(param().mode).name)
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site& site) const override;
  int64_t Computation(const Site& site) const override;
  std::optional<ChannelAffine> AsChannelAffine(absl::Span<const InputInfo> inputs) const override;
  std::optional<Replacement> Chain(absl::Span<const InputInfo> inputs,
                                   const Consumer& consumer) const override;
  QuantizationRule quantization_rule(const Site& site) const override;
  absl::StatusOr<int> MakeQuantized(GraphBuilder& builder, absl::Span<const int> inputs,
                                    const QuantizationChoice& choice) const override;
  std::optional<ValueRange> Saturation() const override;
  bool KeepsChannelScales(const Site& site) const override;
};

// An Elemwise split into an optional addition of two inputs and an activation.
struct ActivationTail {
  bool adds;
  ElemwiseParam activation;
};
// Returns nullopt if `op` is not an Elemwise of this form.
std::optional<ActivationTail> AsActivationTail(const Operator& op);

// Returns the type that inputs of one dtype broadcast to; InvalidArgument, naming the input, if
// they do not.
absl::StatusOr<TensorType> BroadcastInputs(absl::Span<const InputInfo> inputs);

inline bool IsElemwise(const Operator& op, ScalarFunction mode) {
  return op.type() == Elemwise::kType && static_cast<const Elemwise&>(op).param().mode == mode;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_ELEMWISE_H_
