#include "opr/arg_reduce.h"

#include "graph/graph_builder.h"
#include "opr/composition.h"
#include "opr/reduce.h"
#include "opr/strided.h"
#include "opr/top_k.h"
#include "opr/type_cvt.h"

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

absl::StatusOr<std::vector<int>> ArgReduce::Compose(GraphBuilder& builder,
                                                    absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  Composition c(builder);
  const TensorType x = c.type(inputs[0]);
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, x.shape.rank()));
  constexpr int64_t kExactInFloat = int64_t{1} << 24;
  if (x.shape.num_elements() == 0) return std::vector<int>();
  const int64_t length = x.shape[axis];
  if (!IsFloat(x.dtype)) {
    // The first element in order; if the last is wanted, the elements are reversed.
    const int from = param().last ? c.Slice(inputs[0], axis, length - 1, -1, -1) : inputs[0];
    const bool largest = param().mode == ArgReduceMode::kMax;
    const int found = c.AddAll<TopK>({axis, 1, largest}, {from})[1];
    if (!param().last) return std::move(c).Finish({found});
    return std::move(c).Finish(
        {c.Apply(F::kSub, {c.Constant(DType::kInt64, static_cast<double>(length - 1)), found})});
  }
  if (length > kExactInFloat) return std::vector<int>();
  const ReduceMode mode = param().mode == ArgReduceMode::kMax ? ReduceMode::kMax : ReduceMode::kMin;
  const int extreme = c.Add<Reduce>({mode, axis}, {inputs[0]});
  // NaN, which equals nothing, counts as extreme, too.
  const int is_number = c.Apply(F::kEqual, {inputs[0], inputs[0]});
  int is_extreme = c.Apply(F::kMax, {c.Apply(F::kEqual, {inputs[0], extreme}),
                                     c.Apply(F::kSub, {c.Constant(x.dtype, 1), is_number})});
  if (x.dtype != DType::kFloat32) is_extreme = c.Add<TypeCvt>({DType::kFloat32}, {is_extreme});
  Shape along;
  for (int i = axis; i < x.shape.rank(); ++i) along.push_back(i == axis ? length : 1);
  HostTensor indices = HostTensor::Zeros(DType::kFloat32, along);
  for (int64_t i = 0; i < length; ++i) indices.Set(i, static_cast<double>(i));
  const double none = param().last ? -1 : static_cast<double>(length);
  const int candidates = c.Apply(
      F::kSelect, {is_extreme, c.Constant(std::move(indices)), c.Constant(DType::kFloat32, none)});
  const int found =
      c.Add<Reduce>({param().last ? ReduceMode::kMax : ReduceMode::kMin, axis}, {candidates});
  return std::move(c).Finish({c.Add<TypeCvt>({DType::kInt64}, {found})});
}

}  // namespace ashlar
