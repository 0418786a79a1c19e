#include "opr/concat.h"

#include <cstring>
#include <utility>

#include "opr/base/strided.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Concat)

StorageRules Concat::storage_rules(const Site& site) const {
  StorageRules rules = {
      .format = FormatRule::kUniform, .precision = PrecisionRule::kFollow, .moves = true};
  for (const InputInfo& input : site.inputs) {
    const Shape& shape = input.type.shape;
    if (shape.rank() != 4) {
      rules.format = FormatRule::kDefaultOnly;
      return rules;
    }
    if (shape[1] % kChannelBlock != 0) rules.format = FormatRule::kUniformUnpadded;
  }
  return rules;
}

absl::StatusOr<std::vector<TensorType>> Concat::Infer(absl::Span<const InputInfo> inputs) const {
  if (inputs.empty()) return absl::InvalidArgumentError("0 inputs, expected at least 1");
  const TensorType& first = inputs[0].type;
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, first.shape.rank()));
  Shape shape = first.shape;
  for (size_t i = 1; i < inputs.size(); ++i) {
    const TensorType& type = inputs[i].type;
    Shape same = type.shape;
    if (same.rank() == shape.rank()) same[axis] = shape[axis];
    if (type.dtype != first.dtype || type.quantization != first.quantization || same != shape) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is ", type.ToString(),
                                                     ", which does not continue ", first.ToString(),
                                                     " along axis ", axis));
    }
    // Each addend is at most Shape::kMaxBytes, and is checked before the next is added.
    shape[axis] += type.shape[axis];
    ASHLAR_RETURN_IF_ERROR(Shape::Make(shape.dims()).status());
  }
  return std::vector<TensorType>{first.Reshaped(shape)};
}

absl::StatusOr<std::vector<HostTensor>> Concat::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  Shape shape = inputs[0].shape();
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, shape.rank()));
  shape[axis] = 0;
  for (const HostTensor& input : inputs) shape[axis] += input.shape()[axis];
  HostTensor output = HostTensor::ZerosLike(inputs[0], shape);
  int64_t outer = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  // Each input contributes one run of bytes for each index of the axes before the joined one.
  const int64_t pitch = outer == 0 ? 0 : output.bytes() / outer;
  char* to = static_cast<char*>(output.mutable_raw());
  for (const HostTensor& input : inputs) {
    const int64_t run = outer == 0 ? 0 : input.bytes() / outer;
    const char* from = static_cast<const char*>(input.raw());
    for (int64_t i = 0; run > 0 && i < outer; ++i) {
      std::memcpy(to + i * pitch, from + i * run, static_cast<size_t>(run));
    }
    to += run;
  }
  return std::vector<HostTensor>{std::move(output)};
}

int64_t Concat::Computation(const Site& site) const { return site.outputs[0].shape.num_elements(); }

std::optional<Axes> Concat::AxesOf(const Site& site) const {
  return AxisIn(param().axis, site.outputs[0].shape);
}

Aliasing Concat::aliasing(const Site& site) const {
  Aliasing aliasing;
  const TensorType& output = site.outputs[0];
  const std::optional<Axes> axes = AxesOf(site);
  if (!axes) return aliasing;
  const int axis = axes->begin;
  const StorageGrid grid = GridOf(output);
  std::vector<int64_t> start(grid.dims.rank(), 0);
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    const TensorType& input = site.inputs[i].type;
    const StorageGrid part = GridOf({input.dtype, input.shape, output.format, {}});
    const int64_t offset = ContiguousOffset(grid, start, part.dims.dims());
    if (input.format == output.format && offset >= 0) {
      aliasing.placements.push_back({.output = 0, .input = static_cast<int>(i), .offset = offset});
      if (i == 0) aliasing.moves.push_back({.output = 0, .input = 0});
    }
    // The next input would begin within a block of channels.
    if (IsBlocked(output.format) && axis == 1 && input.shape[1] % kChannelBlock != 0) break;
    start[axis] += part.dims[axis];
  }
  return aliasing;
}

}  // namespace ashlar
