// Reductions and pooling as other operators, and in 8 bits.
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "opr/arg_reduce.h"
#include "opr/base/scalar_functions.h"
#include "opr/base/strided.h"
#include "opr/pooling.h"
#include "opr/reduce.h"
#include "opr/rewrites/composition.h"
#include "opr/top_k.h"
#include "opr/type_cvt.h"

namespace ashlar {

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

absl::StatusOr<int> Reduce::MakeQuantized(GraphBuilder& builder, absl::Span<const int> inputs,
                                          const QuantizationChoice& choice) const {
  Composition graph(builder);
  const Shape& image = graph.type(inputs[0]).shape;
  PoolingParam mean;
  mean.mode = PoolingMode::kAverage;
  mean.window_h = mean.stride_h = image[2];
  mean.window_w = mean.stride_w = image[3];
  mean.output = OutputTypeOf(choice.output);
  const int made = graph.Add<PoolingForward>(std::move(mean), {inputs[0]});
  ASHLAR_RETURN_IF_ERROR(graph.status());
  return made;
}

absl::StatusOr<int> PoolingForward::MakeQuantized(GraphBuilder& builder,
                                                  absl::Span<const int> inputs,
                                                  const QuantizationChoice& choice) const {
  PoolingParam pooling = param();
  Composition graph(builder);
  const Shape& image = graph.type(inputs[0]).shape;
  const bool whole = image[2] == pooling.window_h && image[3] == pooling.window_w &&
                     choice.output.shape[2] * choice.output.shape[3] == 1;
  pooling.mode = whole ? PoolingMode::kAverage : PoolingMode::kAverageCountExcludePadding;
  pooling.output = OutputTypeOf(choice.output);
  const int made = graph.Add<PoolingForward>(std::move(pooling), {inputs[0]});
  ASHLAR_RETURN_IF_ERROR(graph.status());
  return made;
}

}  // namespace ashlar
