#include "opr/split.h"

#include <cstring>
#include <numeric>

#include "graph/graph_builder.h"
#include "opr/base/along_axis.h"
#include "opr/base/strided.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Split)

absl::StatusOr<std::vector<TensorType>> Split::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const int axis, AxisOfOnlyInput(inputs, param().axis));
  const TensorType& x = inputs[0].type;
  std::vector<TensorType> outputs;
  int64_t left = x.shape[axis];
  for (const int64_t size : param().sizes) {
    if (size < 0 || size > left) {
      left = -1;
      break;
    }
    left -= size;
    outputs.push_back(x.Reshaped(x.shape));
    outputs.back().shape[axis] = size;
  }
  if (outputs.empty() || left != 0) {
    return absl::InvalidArgumentError(absl::StrCat("sizes ", Shape(param().sizes).ToString(),
                                                   " are not those of pieces of ", x.ToString(),
                                                   " along axis ", axis));
  }
  return outputs;
}

absl::StatusOr<std::vector<HostTensor>> Split::Evaluate(absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, x.shape().rank()));
  std::vector<HostTensor> outputs;
  int64_t start = 0;
  for (const int64_t size : param().sizes) {
    Shape shape = x.shape();
    shape[axis] = size;
    HostTensor& output = outputs.emplace_back(HostTensor::ZerosLike(x, shape));
    const Strides strides = ContiguousStrides(x.shape());
    CopyStrided(x, start * strides[axis], strides, output);
    start += size;
  }
  return outputs;
}

Aliasing Split::aliasing(const Site& site) const {
  Aliasing aliasing;
  const TensorType& x = site.inputs[0].type;
  const std::optional<Axes> axes = AxisIn(param().axis, x.shape);
  if (!axes) return aliasing;
  const StorageGrid grid = GridOf(x);
  std::vector<int64_t> start(grid.dims.rank(), 0);
  for (size_t i = 0; i < site.outputs.size(); ++i) {
    const Shape& piece = site.outputs[i].shape;
    const int64_t offset = ContiguousOffset(grid, start, piece.dims());
    if (offset >= 0) {
      aliasing.views.push_back({.output = static_cast<int>(i), .input = 0, .offset = offset});
    }
    start[axes->begin] += piece[axes->begin];
  }
  return aliasing;
}

}  // namespace ashlar
