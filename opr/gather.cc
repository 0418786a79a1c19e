#include "opr/gather.h"

#include "graph/graph_builder.h"
#include "opr/base/axis.h"
#include "opr/base/inherited.h"

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
  return std::vector<TensorType>{x.Reshaped(output)};
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

absl::StatusOr<IndexedRuns> GatherElements::RunsOf(const Shape& x, const Shape& indices) const {
  return RunsByElements(x, indices, param().axis);
}

absl::StatusOr<Shape> GatherND::OutputOf(const Shape& x, const Shape& indices) const {
  return ShapeByTuples(x, indices, param().batch_dims);
}

}  // namespace ashlar
