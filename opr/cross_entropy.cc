#include "opr/cross_entropy.h"

#include <cmath>

#include "graph/graph_builder.h"
#include "opr/base/aliasing.h"
#include "opr/base/checks.h"
#include "opr/base/doubles.h"
#include "opr/log_softmax.h"
#include "opr/reduce.h"
#include "opr/softmax.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(CrossEntropy)
ASHLAR_MAKE_FROM_PARAMS(CrossEntropyBackward)

namespace {

absl::Status CheckLogitsAndLabels(const TensorType& logits, const TensorType& labels) {
  ASHLAR_RETURN_IF_ERROR(CheckFloat("logits", logits));
  ASHLAR_RETURN_IF_ERROR(CheckNotEmpty("logits", logits));
  if (logits.shape.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("logits are ", logits.ToString(), ", expected rank 2 (N, K)"));
  }
  const bool integers = labels.dtype == DType::kInt32 || labels.dtype == DType::kInt64;
  if (integers && labels.shape == Shape{logits.shape[0]}) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("labels are ", labels.ToString(),
                                                 ", expected Int32 or Int64 {", logits.shape[0],
                                                 "}: one for each row of the logits"));
}

absl::Status CheckLabels(const HostTensor& labels, int64_t classes) {
  return CheckLabels(labels.raw(), labels.dtype(), labels.num_elements(), classes);
}

}  // namespace

absl::Status CheckLabels(const void* labels, DType dtype, int64_t count, int64_t classes) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = dtype == DType::kInt64 ? static_cast<const int64_t*>(labels)[i]
                                                 : static_cast<const int32_t*>(labels)[i];
    if (label >= 0 && label < classes) continue;
    return absl::OutOfRangeError(
        absl::StrCat("label ", label, " of row ", i, " is not one of ", classes, " classes"));
  }
  return absl::OkStatus();
}

int64_t CrossEntropyOperator::Computation(const Site& site) const {
  return 4 * site.inputs[kLogits].type.shape.num_elements();
}

absl::StatusOr<std::vector<TensorType>> CrossEntropy::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  ASHLAR_RETURN_IF_ERROR(CheckLogitsAndLabels(inputs[kLogits].type, inputs[kLabels].type));
  return std::vector<TensorType>{{inputs[kLogits].type.dtype, {1}}};
}

absl::StatusOr<std::vector<HostTensor>> CrossEntropy::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor &logits = inputs[kLogits], &labels = inputs[kLabels];
  const int64_t rows = logits.shape()[0], classes = logits.shape()[1];
  ASHLAR_RETURN_IF_ERROR(CheckLabels(labels, classes));
  double loss = 0;
  for (int64_t n = 0; n < rows; ++n) {
    const auto x = [&](int64_t k) { return logits.At(n * classes + k); };
    double largest = x(0), sum = 0;
    for (int64_t k = 1; k < classes; ++k) largest = std::max(largest, x(k));
    for (int64_t k = 0; k < classes; ++k) sum += std::exp(x(k) - largest);
    loss += largest + std::log(sum) - x(static_cast<int64_t>(labels.At(n)));
  }
  return std::vector<HostTensor>{
      FromDoubles(logits.dtype(), {1}, {loss / static_cast<double>(rows)})};
}

absl::StatusOr<std::vector<TensorType>> CrossEntropyBackward::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 3));
  const TensorType& logits = inputs[kLogits].type;
  ASHLAR_RETURN_IF_ERROR(CheckLogitsAndLabels(logits, inputs[kLabels].type));
  ASHLAR_RETURN_IF_ERROR(CheckType("diff", inputs[kDiff].type, {logits.dtype, {1}}));
  return std::vector<TensorType>{{logits.dtype, logits.shape}};
}

absl::StatusOr<std::vector<HostTensor>> CrossEntropyBackward::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor &logits = inputs[kLogits], &labels = inputs[kLabels];
  const int64_t rows = logits.shape()[0], classes = logits.shape()[1];
  ASHLAR_RETURN_IF_ERROR(CheckLabels(labels, classes));
  const HostTensor wide = FromDoubles(DType::kFloat64, logits.shape(), ToDoubles(logits));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor> weights,
                          Softmax(SoftmaxParam{-1}).Evaluate({wide}));
  std::vector<double> dx = ToDoubles(weights[0]);
  for (int64_t n = 0; n < rows; ++n) {
    dx[static_cast<size_t>(n * classes + static_cast<int64_t>(labels.At(n)))] -= 1;
  }
  for (double& value : dx) value *= inputs[kDiff].At(0) / static_cast<double>(rows);
  return std::vector<HostTensor>{FromDoubles(logits.dtype(), logits.shape(), dx)};
}

Aliasing CrossEntropyBackward::aliasing(const Site& site) const {
  return OverwritesInput(kLogits, site);
}

}  // namespace ashlar
