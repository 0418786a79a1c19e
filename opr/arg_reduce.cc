#include "opr/arg_reduce.h"

#include "graph/graph_builder.h"
#include "opr/base/strided.h"
#include "opr/reduce.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(ArgReduce)

absl::StatusOr<std::vector<TensorType>> ArgReduce::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const int axis, AxisOfOnlyInput(inputs, param().axis));
  const TensorType& x = inputs[0].type;
  if (x.dtype == DType::kByte || x.dtype == DType::kBool || x.shape[axis] == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input is ", x.ToString(), ", expected numbers, and at least one along axis ", axis));
  }
  Shape shape = x.shape;
  shape[axis] = 1;
  return std::vector<TensorType>{{DType::kInt64, shape}};
}

absl::StatusOr<std::vector<HostTensor>> ArgReduce::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, x.shape().rank()));
  const AxisView view = AroundAxis(x.shape(), axis);
  Shape shape = x.shape();
  shape[axis] = 1;
  HostTensor y = HostTensor::Zeros(DType::kInt64, shape);
  WithNumber(x.dtype(), [&]<typename Number>(Number) {
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const int64_t begin = i / view.inner * view.length * view.inner + i % view.inner;
      const auto at = [&](int64_t k) { return NumberAt<Number>(x, begin + k * view.inner); };
      int64_t best = 0;
      for (int64_t k = 1; k < view.length; ++k) {
        if (Displaces(param().mode, param().last, at(k), at(best))) best = k;
      }
      y.mutable_data<int64_t>()[static_cast<size_t>(i)] = best;
    }
  });
  return std::vector<HostTensor>{std::move(y)};
}

}  // namespace ashlar
