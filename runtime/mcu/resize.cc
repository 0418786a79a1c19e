// Resize.
#include "opr/resize.h"

#include <algorithm>
#include <numeric>

#include "graph/status.h"
#include "opr/resize_axis.h"
#include "opr/resize_bytes.h"
#include "runtime/mcu/bytes.h"
#include "runtime/mcu/code_kernel.h"
#include "runtime/mcu/kernels.h"
#include "runtime/mcu/walk.h"

namespace ashlar::mcu {
namespace {

template <typename Op>
absl::StatusOr<std::vector<ResizeAxis>> AxesOf(const Op& op, const KernelRequest& request) {
  return ResizeAxesOf(op.param(), request.infos());
}

// Returns the input index for each output index, for each axis.
absl::StatusOr<std::vector<std::vector<int32_t>>> IndicesOf(const Resize& op,
                                                            const KernelRequest& request) {
  const Shape& shape = request.outputs[0].shape;
  std::vector<std::vector<int32_t>> indices;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    indices.emplace_back(static_cast<size_t>(shape[axis]));
    std::iota(indices.back().begin(), indices.back().end(), 0);
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, AxesOf(op, request));
  for (const ResizeAxis& axis : axes) {
    const ResizeTaps taps = TapsOf(op.param(), axis);
    for (const int32_t index : taps.index) {
      if (index >= 0) continue;
      return absl::UnimplementedError("outputs outside of the region that is resized");
    }
    indices[static_cast<size_t>(axis.axis)] = taps.index;
  }
  return indices;
}

// Returns the call for weighted sums along one or two axes.
absl::StatusOr<KernelList> Interpolation(const Resize& op, const KernelRequest& request) {
  const TensorType &input = request.inputs[0], &output = request.outputs[0];
  if (input.dtype != DType::kFloat32 || input.format != output.format) {
    return absl::UnimplementedError(
        absl::StrCat("linear resizing of ", input.ToString(), " to ", output.ToString()));
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, AxesOf(op, request));
  if (axes.size() > 2) return absl::UnimplementedError("linear resizing along three axes");
  ashlar_interpolate_shape shape = {1, 1, 1, 1, 1,
                                    1, 1, 1, 1, static_cast<float>(op.param().extrapolation)};
  std::vector<int32_t> indices[2] = {{0}, {0}};  // along y and x
  std::vector<float> weights[2] = {{1}, {1}};
  int32_t* around = &shape.outer;  // the product of sizes that the next axis belongs to
  size_t left = axes.size();
  for (const int axis : GridOf(output).order) {
    const auto resized = std::find_if(axes.begin(), axes.end(),
                                      [&](const ResizeAxis& each) { return each.axis == axis; });
    if (resized == axes.end()) {
      *around *= static_cast<int32_t>(input.shape[axis]);
      continue;
    }
    const ResizeTaps taps = TapsOf(op.param(), *resized);
    const bool is_x = --left == 0;  // the last one
    (is_x ? shape.x : shape.y) = static_cast<int32_t>(resized->output);
    (is_x ? shape.x_input : shape.y_input) = static_cast<int32_t>(resized->input);
    (is_x ? shape.x_taps : shape.y_taps) = static_cast<int32_t>(taps.taps);
    indices[is_x] = taps.index;
    weights[is_x].assign(taps.weight.begin(), taps.weight.end());
    around = is_x ? &shape.inner : &shape.middle;
  }
  indices[0].insert(indices[0].end(), indices[1].begin(), indices[1].end());
  weights[0].insert(weights[0].end(), weights[1].begin(), weights[1].end());
  return OnlyKernel({ASHLAR_CODE_CALL(interpolate, shape, Input(0), Table(0), Table(1), Output(0))},
                    {CodeTable::Of<int32_t>(DType::kInt32, indices[0]),
                     CodeTable::Of<float>(DType::kFloat32, weights[0])});
}

absl::StatusOr<KernelList> MakeResize(const Resize& op, const KernelRequest& request) {
  const TensorType &input = request.inputs[0], &output = request.outputs[0];
  if (op.param().mode != ResizeMode::kNearest) return Interpolation(op, request);
  if (output.shape.rank() > ASHLAR_AXES) {
    return absl::UnimplementedError(
        absl::StrCat("rank ", output.shape.rank(), ", at most ", int{ASHLAR_AXES}));
  }
  ASHLAR_ASSIGN_OR_RETURN(const auto indices, IndicesOf(op, request));
  const Strides strides = StridesOver(input, input.shape);
  const auto order = GridOf(output).order;
  ashlar_pick_shape shape = {};
  shape.unit = static_cast<int32_t>(SizeOf(output.dtype));
  std::vector<int32_t> places;
  for (int unused = output.shape.rank(); unused < ASHLAR_AXES; ++unused) {
    shape.walk.sizes[unused - output.shape.rank()] = 1;
    places.push_back(0);
  }
  int place = ASHLAR_AXES - output.shape.rank();
  for (const int axis : order) {
    shape.walk.sizes[place++] = static_cast<int32_t>(output.shape[axis]);
    for (const int32_t index : indices[static_cast<size_t>(axis)]) {
      places.push_back(static_cast<int32_t>(index * strides[axis]));
    }
  }
  return OnlyKernel({ASHLAR_CODE_CALL(pick, shape, Input(0), Table(0), Output(0))},
                    {CodeTable::Of<int32_t>(DType::kInt32, places)});
}

// Appends the numbers of `ashlar_resize8`.
void AppendPlaces(const ResizeAxis& axis, const ResizeTaps& taps, std::vector<int32_t>& places) {
  const auto outputs = static_cast<size_t>(axis.output);
  for (size_t o = 0; o < outputs; ++o) {
    const double weight = taps.weight[outputs + o] * kFixedPointOne;
    const bool both = taps.index[outputs + o] > taps.index[o];  // not beyond an edge
    places.push_back(taps.index[o] * 4096 + (both ? static_cast<int32_t>(weight) : 0));
  }
}

absl::StatusOr<KernelList> MakeResizeBytes(const ResizeBytes& op, const KernelRequest& request) {
  constexpr int64_t kMost = 1 << 19;  // an index and a weight share 32 bits
  const TensorType &input = request.inputs[0], &output = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, AxesOf(op, request));
  const ResizeAxis &h = axes[0], &w = axes[1];
  if (input.format != output.format || h.input > kMost || w.input > kMost) {
    return absl::UnimplementedError(
        absl::StrCat("resizing of ", input.ToString(), " to ", output.ToString()));
  }
  const bool last = input.format == Format::kNHWC;
  const Shape& shape = input.shape;
  ashlar_resize8_shape call = {};
  call.outer = static_cast<int32_t>(last ? shape[0] : shape[0] * shape[1]);
  call.y = static_cast<int32_t>(h.output);
  call.y_input = static_cast<int32_t>(h.input);
  call.x = static_cast<int32_t>(w.output);
  call.x_input = static_cast<int32_t>(w.input);
  call.inner = static_cast<int32_t>(last ? shape[1] : 1);
  call.src_flip = FlipOf(input);
  std::vector<int32_t> places;
  for (const ResizeAxis& axis : axes) AppendPlaces(axis, TapsOf(op.param(), axis), places);
  return OnlyKernel({ASHLAR_CODE_CALL(resize8, call, Input(0), Table(0), Output(0))},
                    {CodeTable::Of<int32_t>(DType::kInt32, places)});
}

}  // namespace

void RegisterResizeKernels(KernelRegistry& registry) {
  registry.Register<Resize>(MakeResize);
  registry.Register<ResizeBytes>(MakeResizeBytes);
}

}  // namespace ashlar::mcu
