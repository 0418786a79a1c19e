#include "opr/gather.h"

#include "graph/graph_builder.h"
#include "opr/axis.h"
#include "opr/composition.h"
#include "opr/concat.h"
#include "opr/dimshuffle.h"
#include "opr/gradient.h"
#include "opr/inherited.h"
#include "opr/matrix_mul.h"
#include "opr/scatter.h"
#include "opr/type_cvt.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Gather)
ASHLAR_MAKE_FROM_PARAMS(GatherElements)
ASHLAR_MAKE_FROM_PARAMS(GatherND)

absl::StatusOr<std::vector<TensorType>> GatheringOperator::InferGathered(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckIndexedInputs(inputs, 2));
  const TensorType &x = inputs[kX].type, &indices = inputs[kIndices].type;
  ASHLAR_RETURN_IF_ERROR(RunsOf(x.shape, indices.shape).status());
  ASHLAR_ASSIGN_OR_RETURN(const Shape output, OutputOf(x.shape, indices.shape));
  ASHLAR_RETURN_IF_ERROR(Shape::Make(output.dims()).status());
  return std::vector<TensorType>{{x.dtype, output}};
}

absl::StatusOr<std::vector<HostTensor>> GatheringOperator::EvaluateGathered(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor &x = inputs[kX], &indices = inputs[kIndices];
  ASHLAR_ASSIGN_OR_RETURN(const IndexedRuns runs, RunsOf(x.shape(), indices.shape()));
  ASHLAR_ASSIGN_OR_RETURN(const Shape output, OutputOf(x.shape(), indices.shape()));
  ASHLAR_ASSIGN_OR_RETURN(HostTensor y, GatherRuns(runs, x, indices, output));
  return std::vector<HostTensor>{std::move(y)};
}

ASHLAR_INHERITS(Gather, InferGathered, EvaluateGathered)
ASHLAR_INHERITS(GatherElements, InferGathered, EvaluateGathered)
ASHLAR_INHERITS(GatherND, InferGathered, EvaluateGathered)

absl::StatusOr<IndexedRuns> Gather::RunsOf(const Shape& x, const Shape& indices) const {
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, x.rank()));
  return RunsAlongAxis(x, indices, axis);
}

absl::StatusOr<Shape> Gather::OutputOf(const Shape& x, const Shape& indices) const {
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, x.rank()));
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(x[i]);
  for (const int64_t dim : indices.dims()) shape.push_back(dim);
  for (int i = axis + 1; i < x.rank(); ++i) shape.push_back(x[i]);
  return shape;
}

std::optional<std::vector<Region>> Gather::InputRegions(const Region& output,
                                                        const Site& site) const {
  const Shape &x = site.inputs[kX].type.shape, &indices = site.inputs[kIndices].type.shape;
  const absl::StatusOr<int> axis = NormalizeAxis(param().axis, x.rank());
  if (!axis.ok() || x[*axis] == 0) return std::nullopt;
  Region from_x, from_indices;
  for (int i = 0; i < x.rank(); ++i) {
    from_x.push_back(i < *axis    ? output[i]
                     : i == *axis ? Range{0, x[i]}
                                  : output[i + indices.rank() - 1]);
  }
  for (int i = 0; i < indices.rank(); ++i) from_indices.push_back(output[*axis + i]);
  return std::vector<Region>{from_x, from_indices};
}

absl::StatusOr<std::vector<int>> Gather::Compose(GraphBuilder& builder,
                                                 absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  Composition c(builder);
  const TensorType x = c.type(inputs[kX]);
  const Shape indices = c.type(inputs[kIndices]).shape;
  ASHLAR_ASSIGN_OR_RETURN(const IndexedRuns runs, RunsOf(x.shape, indices));
  ASHLAR_ASSIGN_OR_RETURN(const Shape output, OutputOf(x.shape, indices));
  constexpr int64_t kExactInFloat = int64_t{1} << 24;
  if (!IsFloat(x.dtype) || output.num_elements() == 0 || runs.sizes[0] > kExactInFloat) {
    return std::vector<int>();
  }
  const int64_t size = runs.sizes[0], outer = runs.walk[0];
  const int given =
      c.Reshaped(c.Add<TypeCvt>({DType::kFloat32}, {inputs[kIndices]}), {runs.tuples, 1});
  const auto number = [&](int64_t value) {
    return c.Constant(DType::kFloat32, static_cast<double>(value));
  };
  const int index = c.Apply(F::kSelect, {c.Apply(F::kLess, {given, number(0)}),
                                         c.Apply(F::kAdd, {given, number(size)}), given});
  HostTensor all = HostTensor::Zeros(DType::kFloat32, {1, size});
  for (int64_t i = 0; i < size; ++i) all.Set(i, static_cast<double>(i));
  int chosen = c.Apply(F::kEqual, {index, c.Constant(std::move(all))});
  if (x.dtype != DType::kFloat32) chosen = c.Add<TypeCvt>({x.dtype}, {chosen});
  const int rows = c.Reshaped(inputs[kX], {outer, size, runs.length});
  return std::move(c).Finish({c.Reshaped(c.Add<MatrixMul>({}, {chosen, rows}), output)});
}

absl::StatusOr<IndexedRuns> GatherElements::RunsOf(const Shape& x, const Shape& indices) const {
  return RunsByElements(x, indices, param().axis);
}

absl::StatusOr<Shape> GatherND::OutputOf(const Shape& x, const Shape& indices) const {
  return ShapeByTuples(x, indices, param().batch_dims);
}

// Moves the indexed axis first, as ScatterND needs it, and makes tuples of one index.
absl::Status Gather::Gradient(GradientContext& context) const {
  Gradients g(context);
  const TensorType x = g.input_type(kX);
  Shape indices = g.input_type(kIndices).shape;
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, x.shape.rank()));
  const int of_indices = indices.rank();
  DimshuffleParam to_front, back;
  for (int i = 0; i < of_indices; ++i) to_front.pattern.push_back(axis + i);
  Shape turned = {x.shape[axis]};
  for (int i = 0; i < x.shape.rank(); ++i) {
    back.pattern.push_back(i == axis ? 0 : i < axis ? i + 1 : i);
    if (i == axis) continue;
    turned.push_back(x.shape[i]);
    to_front.pattern.push_back(i < axis ? i : i + of_indices - 1);
  }
  indices.push_back(1);
  const int updates = g.Add<Dimshuffle>(std::move(to_front), {g.of()});
  const int sums = g.Add<ScatterND>(
      {ScatterReduction::kAdd},
      {g.Filled(x.dtype, turned, 0), g.Reshaped(g.input(kIndices), indices), updates});
  g.Set(kX, g.Add<Dimshuffle>(std::move(back), {sums}));
  return std::move(g).Finish();
}

absl::Status GatherElements::Gradient(GradientContext& context) const {
  Gradients g(context);
  const TensorType x = g.input_type(kX);
  g.Set(kX, g.Add<ScatterElements>({param().axis, ScatterReduction::kAdd},
                                   {g.Filled(x.dtype, x.shape, 0), g.input(kIndices), g.of()}));
  return std::move(g).Finish();
}

// Adds the position in the batch to the tuples.
absl::Status GatherND::Gradient(GradientContext& context) const {
  Gradients g(context);
  const TensorType x = g.input_type(kX), indices = g.input_type(kIndices);
  int tuples = g.input(kIndices);
  const int last = indices.shape.rank() - 1;
  if (const int64_t batch = param().batch_dims; batch > 0) {
    Shape shape = indices.shape;
    shape[last] = batch;
    HostTensor places = HostTensor::Zeros(indices.dtype, shape);
    for (int64_t i = 0; i < places.num_elements(); ++i) {
      int64_t rest = i / batch;
      for (int axis = last - 1; axis > i % batch; --axis) rest /= shape[axis];
      places.Set(i, static_cast<double>(rest % shape[static_cast<int>(i % batch)]));
    }
    tuples = g.Add<Concat>({last}, {g.Constant(std::move(places)), tuples});
  }
  g.Set(kX, g.Add<ScatterND>({ScatterReduction::kAdd},
                             {g.Filled(x.dtype, x.shape, 0), tuples, g.of()}));
  return std::move(g).Finish();
}

}  // namespace ashlar
