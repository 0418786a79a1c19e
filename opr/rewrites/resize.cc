// Resize as products with matrices of weights.
#include "opr/resize.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "opr/base/axis.h"
#include "opr/base/host_value.h"
#include "opr/expand.h"
#include "opr/gather.h"
#include "opr/matrix_mul.h"
#include "opr/pad.h"
#include "opr/resize_axis.h"
#include "opr/rewrites/composition.h"
#include "opr/split.h"

namespace ashlar {
namespace {

// Returns the weights as a matrix [outputs, inputs].
HostTensor MatrixOf(const ResizeAxis& axis, const ResizeTaps& taps, DType dtype) {
  HostTensor matrix = HostTensor::Zeros(dtype, {axis.output, axis.input});
  std::vector<double> row(static_cast<size_t>(axis.input));
  for (int64_t o = 0; o < axis.output; ++o) {
    std::fill(row.begin(), row.end(), 0.0);
    for (int64_t t = 0; t < taps.taps; ++t) {
      const auto at = static_cast<size_t>(t * axis.output + o);
      if (taps.index[at] < 0) continue;
      row[static_cast<size_t>(taps.index[at])] += taps.weight[at];
    }
    for (int64_t i = 0; i < axis.input; ++i) {
      matrix.Set(o * axis.input + i, row[static_cast<size_t>(i)]);
    }
  }
  return matrix;
}

// Returns for each output whether it lies outside: 1 or 0, along the axis of a tensor of that rank.
HostTensor OutsideOf(const ResizeAxis& axis, const ResizeTaps& taps, DType dtype, int rank) {
  Shape shape = {axis.output};
  for (int i = axis.axis + 1; i < rank; ++i) shape.push_back(1);
  HostTensor outside = HostTensor::Zeros(dtype, shape);
  for (int64_t o = 0; o < axis.output; ++o) {
    outside.Set(o, taps.index[static_cast<size_t>(o)] < 0 ? 1 : 0);
  }
  return outside;
}

}  // namespace

absl::StatusOr<std::vector<int>> Resize::Compose(GraphBuilder& builder,
                                                 absl::Span<const int> inputs) const {
  Composition c(builder);
  TensorType type = c.type(inputs[0]);
  std::vector<HostTensor> targets;  // values are valid until the next operator is added
  for (size_t i = 1; i < inputs.size(); ++i) {
    const HostTensor* const value = builder.StaticValue(inputs[i]);
    if (value == nullptr) return std::vector<int>();
    targets.push_back(*value);
  }
  std::vector<InputInfo> infos = {{type}};
  for (const HostTensor& target : targets) infos.push_back(InfoOf(target));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, ResizeAxesOf(param(), infos));
  std::vector<ResizeTaps> taps;
  for (const ResizeAxis& axis : axes) {
    taps.push_back(TapsOf(param(), axis));
    const bool chosen =
        type.dtype != DType::kInt64 && type.dtype != DType::kByte;  // Elemwise can select outputs
    if (!chosen && Extrapolates(taps.back(), axis.output)) return std::vector<int>();
  }
  int y = inputs[0];
  for (size_t i = 0; i < axes.size(); ++i) {
    const ResizeAxis& axis = axes[i];
    const AxisView around = AroundAxis(type.shape, axis.axis);
    type.shape[axis.axis] = axis.output;
    if (param().mode ==
        ResizeMode::kNearest) {  // any dtype; avoids products with infinities and NaN
      HostTensor indices = HostTensor::Zeros(DType::kInt32, {axis.output});
      for (int64_t o = 0; o < axis.output; ++o) {
        indices.Set(o, std::max(taps[i].index[static_cast<size_t>(o)], 0));
      }
      y = c.Add<Gather>({axis.axis}, {y, c.Constant(std::move(indices))});
      continue;
    }
    y = c.Reshaped(y, {around.outer, around.length, around.inner});
    y = c.Add<MatrixMul>({}, {c.Constant(MatrixOf(axis, taps[i], type.dtype)), y});
    y = c.Reshaped(y, type.shape);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!Extrapolates(taps[i], axes[i].output)) continue;
    const int outside = c.Constant(OutsideOf(axes[i], taps[i], type.dtype, type.shape.rank()));
    const int value = c.Constant(type.dtype, param().extrapolation);
    y = c.Apply(ScalarFunction::kSelect, {outside, value, y});
  }
  return std::move(c).Finish({y});
}

}  // namespace ashlar
