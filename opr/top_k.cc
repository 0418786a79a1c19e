#include "opr/top_k.h"

#include <algorithm>
#include <numeric>

#include "opr/base/along_axis.h"
#include "opr/base/strided.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(TopK)

absl::StatusOr<std::vector<TensorType>> TopK::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const int axis, AxisOfOnlyInput(inputs, param().axis));
  const TensorType& x = inputs[0].type;
  if (x.dtype == DType::kByte || x.dtype == DType::kBool) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", x.ToString(), ", expected numbers"));
  }
  if (param().k < 0 || param().k > x.shape[axis]) {
    return absl::InvalidArgumentError(absl::StrCat("k is ", param().k, ", expected 0 to ",
                                                   x.shape[axis], " of ", x.ToString(),
                                                   " along axis ", axis));
  }
  Shape shape = x.shape;
  shape[axis] = param().k;
  return std::vector<TensorType>{{x.dtype, shape}, {DType::kInt64, shape}};
}

absl::StatusOr<std::vector<HostTensor>> TopK::Evaluate(absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, x.shape().rank()));
  const AxisView view = AroundAxis(x.shape(), axis);
  Shape shape = x.shape();
  shape[axis] = param().k;
  HostTensor values = HostTensor::Zeros(x.dtype(), shape);
  HostTensor indices = HostTensor::Zeros(DType::kInt64, shape);
  std::vector<int64_t> order(static_cast<size_t>(view.length));
  WithNumber(x.dtype(), [&]<typename Number>(Number) {
    for (int64_t row = 0; row < view.outer * view.inner; ++row) {
      const int64_t outer = row / view.inner, inner = row % view.inner;
      const auto at = [&](int64_t i) {
        return NumberAt<Number>(x, (outer * view.length + i) * view.inner + inner);
      };
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        return ComesBefore(param().largest, at(i), i, at(j), j);
      });
      for (int64_t i = 0; i < param().k; ++i) {
        const int64_t to = (outer * param().k + i) * view.inner + inner;
        const int64_t from = order[static_cast<size_t>(i)];
        SetNumber(values, to, at(from));
        indices.mutable_data<int64_t>()[static_cast<size_t>(to)] = from;
      }
    }
  });
  return std::vector<HostTensor>{std::move(values), std::move(indices)};
}

}  // namespace ashlar
