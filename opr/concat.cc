#include "opr/concat.h"

#include <cstring>
#include <utility>

#include "opr/regions.h"
#include "opr/strided.h"

namespace ashlar {

FormatRule Concat::format_rule(absl::Span<const TensorType> inputs) const {
  FormatRule rule = FormatRule::kUniform;
  for (const TensorType& input : inputs) {
    if (input.shape.rank() != 4) return FormatRule::kDefaultOnly;
    if (input.shape[1] % kChannelBlock != 0) rule = FormatRule::kUniformUnpadded;
  }
  return rule;
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
    if (type.dtype != first.dtype || same != shape) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is ", type.ToString(),
                                                     ", which does not continue ", first.ToString(),
                                                     " along axis ", axis));
    }
    // Each addend is at most Shape::kMaxBytes, and is checked before the next one comes.
    shape[axis] += type.shape[axis];
    ASHLAR_RETURN_IF_ERROR(Shape::Make(shape.dims()).status());
  }
  return std::vector<TensorType>{{first.dtype, shape}};
}

absl::StatusOr<std::vector<HostTensor>> Concat::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  Shape shape = inputs[0].shape();
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, shape.rank()));
  shape[axis] = 0;
  for (const HostTensor& input : inputs) shape[axis] += input.shape()[axis];
  HostTensor output = HostTensor::Zeros(inputs[0].dtype(), shape);
  int64_t outer = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  // Each input gives one run of bytes for each index of the axes before the one that is joined.
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

int64_t Concat::Computation(absl::Span<const TensorType>,
                            absl::Span<const TensorType> outputs) const {
  return outputs[0].shape.num_elements();
}

std::optional<int64_t> Concat::PlaceInput(int input, absl::Span<const TensorType> inputs,
                                          absl::Span<const TensorType> outputs) const {
  const TensorType& output = outputs[0];
  if (inputs[input].format != output.format) return std::nullopt;
  absl::StatusOr<int> axis = NormalizeAxis(param().axis, output.shape.rank());
  if (!axis.ok()) return std::nullopt;
  const StorageGrid grid = GridOf(output);
  const StorageGrid part = GridOf(inputs[input]);
  std::vector<int64_t> start(grid.dims.rank(), 0);
  for (int i = 0; i < input; ++i) {
    const bool whole =
        !IsBlocked(output.format) || *axis != 1 || inputs[i].shape[1] % kChannelBlock == 0;
    if (!whole) return std::nullopt;  // this input would begin within a block of channels
    start[*axis] += GridOf(inputs[i]).dims[*axis];
  }
  const int64_t offset = ContiguousOffset(grid, start, part.dims.dims());
  return offset < 0 ? std::nullopt : std::optional<int64_t>(offset);
}

std::optional<std::vector<Region>> Concat::InputRegions(
    const Region& output, absl::Span<const InputInfo> inputs,
    absl::Span<const TensorType> outputs) const {
  const absl::StatusOr<int> axis = NormalizeAxis(param().axis, outputs[0].shape.rank());
  if (!axis.ok()) return std::nullopt;
  return RegionsAcross(output, *axis, inputs, outputs);
}

std::optional<Region> Concat::OutputRegion(int /*input*/, const Region& region,
                                           absl::Span<const InputInfo> /*inputs*/,
                                           absl::Span<const TensorType> outputs) const {
  const absl::StatusOr<int> axis = NormalizeAxis(param().axis, outputs[0].shape.rank());
  if (!axis.ok()) return std::nullopt;
  return OutputRegionAcross(region, *axis, outputs[0]);
}

}  // namespace ashlar
