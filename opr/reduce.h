// Reduce: reduces one axis, or a tensor to a given shape, by a sum or a similar function.
#ifndef ASHLAR_OPR_REDUCE_H_
#define ASHLAR_OPR_REDUCE_H_

#include "opr/base/row_wise.h"

namespace ashlar {

enum class ReduceMode { kSum, kSumSqr, kProduct, kMin, kMax, kMean };
enum class ReduceDataType { kDefault };

struct ReduceParam {
  ReduceMode mode = ReduceMode::kSum;
  int64_t axis = kNoAxis;  // negative: from the end; kNoAxis: the shape is the second input
  ReduceDataType data_type = ReduceDataType::kDefault;

  template <typename V>
  void Visit(V& v) {
    static constexpr const char* kModes[] = {"SUM", "SUM_SQR", "PRODUCT", "MIN", "MAX", "MEAN"};
    static constexpr const char* kDataTypes[] = {"DEFAULT"};
    v("mode", mode, kModes);
    v("axis", axis);
    v("data_type", data_type, kDataTypes);
  }
};

// Inputs: x, and with axis kNoAxis the shape of the output. That shape is an integer vector known
// before the run and broadcasts to x's (-1: x's size). With an axis, the output has size 1 there.
class Reduce final : public OperatorWithParam<ReduceParam, AxisOperator> {
 public:
  ASHLAR_OPERATOR("Reduce", absl::StrCat("reduce", static_cast<int>(param().mode)))
  absl::Status Gradient(GradientContext& context) const override;
  InputUse input_use(int input) const override {
    return input == 0 ? InputUse::kDeviceValue : InputUse::kHostValue;
  }
  int64_t Computation(const Site& site) const override;
  QuantizationRule quantization_rule(const Site& site) const override;
  absl::StatusOr<int> MakeQuantized(GraphBuilder& builder, absl::Span<const int> inputs,
                                    const QuantizationChoice& choice) const override;

 protected:
  std::optional<Axes> AxesOf(const Site& site) const override;

 private:
  absl::StatusOr<Shape> TargetShape(absl::Span<const InputInfo> inputs) const;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_REDUCE_H_
