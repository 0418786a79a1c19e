#include "opr/grid_sample.h"

#include "opr/base/checks.h"
#include "opr/base/host_value.h"
#include "opr/base/saturating_product.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(GridSample)

absl::StatusOr<std::vector<TensorType>> GridSample::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  const TensorType &x = inputs[0].type, &grid = inputs[1].type;
  const int rank = x.shape.rank();
  const bool volume = rank == 5 && param().mode != GridSampleMode::kCubic;
  if (volume && !IsFloat(x.dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("input is ", x.ToString(), ", expected floats"));
  }
  if (!volume) ASHLAR_RETURN_IF_ERROR(CheckImage("input", x));
  ASHLAR_RETURN_IF_ERROR(CheckDType("grid", grid, x.dtype));
  if (grid.shape.rank() != rank || grid.shape[0] != x.shape[0] ||
      grid.shape[rank - 1] != rank - 2) {
    return absl::InvalidArgumentError(absl::StrCat("grid is ", grid.ToString(), ", expected {",
                                                   x.shape[0], volume ? ",od" : "", ",oh,ow,",
                                                   rank - 2, "}"));
  }
  std::vector<int64_t> dims = {x.shape[0], x.shape[1]};
  for (int axis = 1; axis < rank - 1; ++axis) dims.push_back(grid.shape[axis]);
  ASHLAR_ASSIGN_OR_RETURN(Shape output, Shape::Make(dims));
  ASHLAR_RETURN_IF_ERROR(CheckMadeOfElements("input", x, output));
  return std::vector<TensorType>{{x.dtype, std::move(output)}};
}

absl::StatusOr<std::vector<HostTensor>> GridSample::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor &x = inputs[0], &grid = inputs[1];
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, Infer(InfosOf(inputs)));
  const Shape& shape = x.shape();
  const absl::Span<const int64_t> size = shape.dims().subspan(2);
  const auto axes = static_cast<int64_t>(size.size());
  const int64_t images = shape[0] * shape[1];
  HostTensor y = HostTensor::Zeros(x.dtype(), types[0].shape);
  if (images == 0 || y.num_elements() == 0) return std::vector<HostTensor>{std::move(y)};
  const int64_t points = y.num_elements() / images, plane = x.num_elements() / images;
  for (int64_t i = 0; i < shape[0] * points; ++i) {
    std::array<double, 3> place = {};
    for (int64_t axis = 0; axis < axes; ++axis) place[axis] = grid.At(axes * i + axis);
    const GridPoint point = GridPointAt(param(), place.data(), size);
    for (int64_t c = 0; c < shape[1]; ++c) {
      const int64_t image = i / points * shape[1] + c;
      double sum = 0;
      for (int t = 0; t < point.count; ++t) {
        if (point.weight[t] == 0) continue;
        sum += point.weight[t] * x.At(image * plane + point.offset[t]);
      }
      y.Set(image * points + i % points, sum);
    }
  }
  return std::vector<HostTensor>{std::move(y)};
}

int64_t GridSample::Computation(const Site& site) const {
  const int64_t taps = GridTapCount(param().mode);
  const int64_t depth = site.outputs[0].shape.rank() == 5 ? taps : 1;
  return SaturatingProduct({site.outputs[0].shape.num_elements(), taps, taps, depth, 2});
}

std::optional<std::vector<Region>> GridSample::InputRegions(const Region& output,
                                                            const Site& site) const {
  std::vector<Region> regions = {WholeRegion(site.inputs[0].type.shape),
                                 WholeRegion(site.inputs[1].type.shape)};
  for (const int axis : {0, 1}) regions[0][axis] = output[axis];
  regions[1][0] = output[0];
  for (size_t axis = 2; axis < output.size(); ++axis) regions[1][axis - 1] = output[axis];
  return regions;
}

}  // namespace ashlar
