#include "opr/expand.h"

#include "graph/graph_builder.h"
#include "opr/aliasing.h"
#include "opr/composition.h"
#include "opr/gather.h"
#include "opr/gradient.h"
#include "opr/host_value.h"
#include "opr/shape_operand.h"
#include "opr/strided.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Expand)

namespace {

absl::StatusOr<Shape> OutputOf(absl::Span<const InputInfo> inputs) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, IntegerVector(inputs[1], "the shape"));
  ASHLAR_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASHLAR_ASSIGN_OR_RETURN(const Shape output, Broadcast(inputs[0].type.shape, shape));
  return Shape::Make(output.dims());
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> Expand::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  ASHLAR_ASSIGN_OR_RETURN(const Shape output, OutputOf(inputs));
  return std::vector<TensorType>{{inputs[0].type.dtype, output}};
}

absl::StatusOr<std::vector<HostTensor>> Expand::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const Shape shape, OutputOf(InfosOf(inputs)));
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

absl::StatusOr<std::vector<int>> Expand::Compose(GraphBuilder& builder,
                                                 absl::Span<const int> inputs) const {
  Composition c(builder);
  const TensorType x = c.type(inputs[0]);
  const HostTensor* const target = builder.StaticValue(inputs[1]);
  if (target == nullptr) return std::vector<int>();
  const HostTensor shape_value = *target;
  const std::vector<InputInfo> infos = {{x}, InfoOf(shape_value)};
  ASHLAR_ASSIGN_OR_RETURN(const Shape output, OutputOf(infos));
  if (x.dtype == DType::kInt64 ||
      x.dtype == DType::kByte) {  // products in these dtypes are not exact
    Shape aligned = output;
    for (int axis = 0; axis < output.rank(); ++axis) {
      const int own = axis - (output.rank() - x.shape.rank());
      aligned[axis] = own < 0 ? 1 : x.shape[own];
    }
    int y = c.Reshaped(inputs[0], aligned);
    for (int axis = 0; axis < output.rank(); ++axis) {
      if (aligned[axis] == output[axis]) continue;
      const HostTensor first = HostTensor::Zeros(DType::kInt32, {output[axis]});
      y = c.Add<Gather>({axis}, {y, c.Constant(first)});
    }
    return std::move(c).Finish({y});
  }
  Shape ones = output;
  for (int i = 1; i <= x.shape.rank(); ++i) {
    if (x.shape[x.shape.rank() - i] != 1) ones[output.rank() - i] = 1;
  }
  return std::move(c).Finish(
      {c.Apply(ScalarFunction::kMul, {inputs[0], c.Filled(x.dtype, ones, 1)})});
}

absl::Status Expand::Gradient(GradientContext& context) const {
  Gradients g(context);
  g.Set(0, g.of());
  return std::move(g).Finish();
}

}  // namespace ashlar
