#include "training/loss.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "opr/elemwise.h"
#include "opr/reduce.h"
#include "opr/reshape.h"
#include "opr/table.h"

namespace ashlar {
namespace {

constexpr const char* kLossNames[] = {"cross-entropy", "mse"};

// Whether a tensor holds {N, K} logits: shapes {N, K} and {N, K, 1, ...}.
bool HoldsLogits(const TensorType& type) {
  const Shape& shape = type.shape;
  return type.dtype == DType::kFloat32 && shape.rank() >= 2 &&
         shape.num_elements() == shape[0] * shape[1];
}

}  // namespace

absl::StatusOr<Loss> ParseLoss(absl::string_view name) {
  for (const Loss loss : {Loss::kCrossEntropy, Loss::kMeanSquare}) {
    if (name == Name(loss)) return loss;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is no loss; expected cross-entropy or mse"));
}

absl::string_view Name(Loss loss) { return kLossNames[static_cast<size_t>(loss)]; }

absl::StatusOr<TensorType> LabelsFor(Loss loss, const TensorType& output) {
  if (loss == Loss::kMeanSquare) {
    if (output.dtype == DType::kFloat32) return TensorType{output.dtype, output.shape};
  } else if (HoldsLogits(output)) {
    return TensorType{DType::kInt32, Shape{output.shape[0]}};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the model's output is ", output.ToString(), ", ", Name(loss), " expects ",
                   loss == Loss::kMeanSquare ? "Float32" : "Float32 [N, classes]"));
}

absl::StatusOr<int> AddReshape(GraphBuilder& builder, int var, const Shape& shape) {
  if (builder.graph().var(var).type.shape == shape) return var;
  const absl::Span<const int64_t> dims = shape.dims();
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<int> target,
      builder.Add(Operators().MakeConstant(HostTensor::FromValues<int64_t>(
                      DType::kInt64, {static_cast<int64_t>(dims.size())}, dims)),
                  {}));
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<int> made,
      builder.Add(std::make_shared<const Reshape>(ReshapeParam()), {var, target[0]}));
  return made[0];
}

absl::StatusOr<int> AddLoss(GraphBuilder& builder, Loss loss, int output, int labels) {
  const TensorType type = builder.graph().var(output).type;
  const auto add = [&](OperatorPtr op, std::vector<int> inputs) -> absl::StatusOr<int> {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made, builder.Add(std::move(op), inputs));
    return made[0];
  };
  if (loss == Loss::kCrossEntropy) {
    ASHLAR_ASSIGN_OR_RETURN(const int logits,
                            AddReshape(builder, output, {type.shape[0], type.shape[1]}));
    ASHLAR_ASSIGN_OR_RETURN(OperatorPtr op, Operators().Make("CrossEntropy", {}));
    return add(std::move(op), {logits, labels});
  }
  const auto elemwise = [](ScalarFunction mode) {
    return std::make_shared<const Elemwise>(ElemwiseParam{mode});
  };
  ASHLAR_ASSIGN_OR_RETURN(const int difference,
                          add(elemwise(ScalarFunction::kSub), {output, labels}));
  ASHLAR_ASSIGN_OR_RETURN(const int squares,
                          add(elemwise(ScalarFunction::kMul), {difference, difference}));
  ASHLAR_ASSIGN_OR_RETURN(const int row, AddReshape(builder, squares, {type.shape.num_elements()}));
  return add(std::make_shared<const Reduce>(ReduceParam{ReduceMode::kMean, 0}), {row});
}

}  // namespace ashlar
