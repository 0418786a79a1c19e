#include "opr/cum_sum.h"

#include "opr/composition.h"
#include "opr/gradient.h"
#include "opr/matrix_mul.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(CumSum)

absl::StatusOr<std::vector<TensorType>> CumSum::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(AxisOfOnlyInput(inputs, param().axis).status());
  const TensorType& x = inputs[0].type;
  if (x.dtype == DType::kByte || x.dtype == DType::kBool) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", x.ToString(), ", expected numbers"));
  }
  return std::vector<TensorType>{{x.dtype, x.shape}};
}

absl::StatusOr<std::vector<HostTensor>> CumSum::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, x.shape().rank()));
  const AxisView view = AroundAxis(x.shape(), axis);
  HostTensor y = HostTensor::Zeros(x.dtype(), x.shape());
  for (int64_t row = 0; row < view.outer * view.inner; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < view.length; ++i) {
      const int64_t place = param().reverse ? view.length - 1 - i : i;
      const int64_t at = (row / view.inner * view.length + place) * view.inner + row % view.inner;
      if (param().exclusive) y.Set(at, sum);
      sum += x.At(at);
      if (!param().exclusive) y.Set(at, sum);
    }
  }
  return std::vector<HostTensor>{std::move(y)};
}

int64_t CumSum::Computation(const Site& site) const { return site.outputs[0].shape.num_elements(); }

absl::StatusOr<std::vector<int>> CumSum::Compose(GraphBuilder& builder,
                                                 absl::Span<const int> inputs) const {
  Composition c(builder);
  const TensorType x = c.type(inputs[0]);
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, x.shape.rank()));
  const AxisView view = AroundAxis(x.shape, axis);
  constexpr int64_t kLargestTriangle = 4096;
  if (!IsFloat(x.dtype) || x.shape.num_elements() == 0 || view.length > kLargestTriangle) {
    return std::vector<int>();
  }
  HostTensor triangle = HostTensor::Zeros(x.dtype, {view.length, view.length});
  for (int64_t to = 0; to < view.length; ++to) {
    for (int64_t from = 0; from < view.length; ++from) {
      const int64_t before = param().reverse ? from - to : to - from;
      if (before > 0 || (before == 0 && !param().exclusive)) {
        triangle.Set(to * view.length + from, 1);
      }
    }
  }
  const int rows = c.Reshaped(inputs[0], {view.outer, view.length, view.inner});
  const int sums = c.Add<MatrixMul>({}, {c.Constant(std::move(triangle)), rows});
  return std::move(c).Finish({c.Reshaped(sums, x.shape)});
}

absl::Status CumSum::Gradient(GradientContext& context) const {
  Gradients g(context);
  g.Set(0, g.Add<CumSum>({param().axis, param().exclusive, !param().reverse}, {g.of()}));
  return std::move(g).Finish();
}

}  // namespace ashlar
