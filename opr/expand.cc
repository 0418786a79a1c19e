#include "opr/expand.h"

#include "graph/graph_builder.h"
#include "opr/base/aliasing.h"
#include "opr/base/host_value.h"
#include "opr/base/shape_operand.h"
#include "opr/base/strided.h"
#include "opr/gather.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Expand)

absl::StatusOr<Shape> ExpandedShape(absl::Span<const InputInfo> inputs) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, IntegerVector(inputs[1], "the shape"));
  ASHLAR_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASHLAR_ASSIGN_OR_RETURN(const Shape output, Broadcast(inputs[0].type.shape, shape));
  return Shape::Make(output.dims());
}

absl::StatusOr<std::vector<TensorType>> Expand::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  ASHLAR_ASSIGN_OR_RETURN(const Shape output, ExpandedShape(inputs));
  return std::vector<TensorType>{{inputs[0].type.dtype, output}};
}

absl::StatusOr<std::vector<HostTensor>> Expand::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const Shape shape, ExpandedShape(InfosOf(inputs)));
  HostTensor output = HostTensor::Zeros(inputs[0].dtype(), shape);
  CopyStrided(inputs[0], 0, BroadcastStrides(inputs[0].shape(), shape), output);
  return std::vector<HostTensor>{std::move(output)};
}

Aliasing Expand::aliasing(const Site& site) const {
  const bool same =
      site.inputs[0].type.shape.num_elements() == site.outputs[0].shape.num_elements();
  return same ? ViewOfInput() : Aliasing();
}

std::optional<std::vector<Region>> Expand::InputRegions(const Region& output,
                                                        const Site& site) const {
  const Shape& shape = site.inputs[0].type.shape;
  const int leading = static_cast<int>(output.size()) - shape.rank();
  Region region;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    region.push_back(shape[axis] == 1 ? Range{0, 1} : output[leading + axis]);
  }
  return std::vector<Region>{region, WholeRegion(site.inputs[1].type.shape)};
}

std::optional<Replacement> Expand::AtRegion(const Region& output,
                                            absl::Span<const Region> /*given*/,
                                            const Site& /*site*/) const {
  return WithShapeOf<Expand>(output);
}

}  // namespace ashlar
