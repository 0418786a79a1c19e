#include "opr/counted.h"

#include "opr/base/axis.h"

namespace ashlar {
namespace {

const TensorType kCount = {DType::kInt64, {}};

// InvalidArgument unless the input is a count.
absl::Status CheckIsCount(absl::Span<const InputInfo> inputs, size_t i) {
  const TensorType& type = inputs[i].type;
  if (type.dtype == DType::kInt64 && type.shape.rank() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input ", i, " is ", type.ToString(), ", expected a count, Int64{}"));
}

}  // namespace

ASHLAR_MAKE_FROM_PARAMS(NonZero)
ASHLAR_MAKE_FROM_PARAMS(IndicesWithin)
ASHLAR_MAKE_FROM_PARAMS(CheckCount)

absl::Status MoreThanPlanned(int64_t at_most) {
  return absl::OutOfRangeError(
      absl::StrCat("finds more than the ", at_most, " that are planned for (--bound)"));
}

absl::StatusOr<int64_t> IndexWithin(int64_t index, int64_t count) {
  if (index >= -count && index < count) return index < 0 ? index + count : index;
  return absl::OutOfRangeError(absl::StrCat("index ", index, " is out of range for size ", count,
                                            ", which depends on data"));
}

absl::StatusOr<std::vector<TensorType>> NonZero::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  const TensorType& x = inputs[0].type;
  if (x.dtype == DType::kByte || IsQuantized(x.dtype) || x.shape.rank() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", x.ToString(), ", expected numbers of rank 1 or more"));
  }
  if (param().at_most < 0 || param().at_most > x.shape.num_elements()) {
    return absl::InvalidArgumentError(
        absl::StrCat("at_most is ", param().at_most, ", expected 0 to ", x.shape.num_elements()));
  }
  return std::vector<TensorType>{{DType::kInt64, {x.shape.rank(), param().at_most}}, kCount};
}

absl::StatusOr<std::vector<HostTensor>> NonZero::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  HostTensor places = HostTensor::Zeros(DType::kInt64, {x.shape().rank(), param().at_most});
  HostTensor count = HostTensor::Zeros(DType::kInt64, {});
  ASHLAR_RETURN_IF_ERROR(Find(
      x.shape(), param().at_most, [&](int64_t i) { return x.At(i) == 0; },
      places.mutable_data<int64_t>().data(), count.mutable_data<int64_t>().data()));
  return std::vector<HostTensor>{std::move(places), std::move(count)};
}

absl::StatusOr<std::vector<TensorType>> IndicesWithin::Infer(
    absl::Span<const InputInfo> inputs) const {
  const bool counted = param().axis != -1;
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, counted ? 3 : 2));
  for (size_t i = 1; i < inputs.size(); ++i) ASHLAR_RETURN_IF_ERROR(CheckIsCount(inputs, i));
  const TensorType& indices = inputs[0].type;
  if (indices.dtype != DType::kInt64 && indices.dtype != DType::kInt32) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices are ", indices.ToString(), ", expected Int32 or Int64"));
  }
  if (counted && (param().axis < 0 || param().axis >= indices.shape.rank())) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis is ", param().axis, " of ", indices.ToString()));
  }
  return std::vector<TensorType>{{indices.dtype, indices.shape}};
}

absl::StatusOr<std::vector<HostTensor>> IndicesWithin::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& indices = inputs[0];
  const bool counted = param().axis != -1;
  const AxisView view = counted ? AroundAxis(indices.shape(), static_cast<int>(param().axis))
                                : AxisView{1, indices.num_elements(), 1};
  HostTensor y = HostTensor::Zeros(indices.dtype(), indices.shape());
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    if (counted && i / view.inner % view.length >= inputs[2].IntegerAt(0)) continue;
    ASHLAR_ASSIGN_OR_RETURN(const int64_t index,
                            IndexWithin(indices.IntegerAt(i), inputs[1].IntegerAt(0)));
    y.SetInteger(i, index);
  }
  return std::vector<HostTensor>{std::move(y)};
}

absl::StatusOr<std::vector<TensorType>> CheckCount::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  for (size_t i = 0; i < 2; ++i) ASHLAR_RETURN_IF_ERROR(CheckIsCount(inputs, i));
  return std::vector<TensorType>{kCount};
}

absl::Status CheckCount::Check(const CheckCountParam& param, int64_t count, int64_t other) {
  if (param.at_most ? count >= 0 && count <= other : count == other) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(param.what, " is ", count, ", expected ",
                                            !param.at_most ? ""
                                            : count < 0    ? "0 to "
                                                           : "at most ",
                                            other));
}

absl::StatusOr<std::vector<HostTensor>> CheckCount::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_RETURN_IF_ERROR(Check(param(), inputs[0].IntegerAt(0), inputs[1].IntegerAt(0)));
  return std::vector<HostTensor>{inputs[0]};
}

}  // namespace ashlar
