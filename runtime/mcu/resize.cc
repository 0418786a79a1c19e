// Resize to the nearest elements.
#include "opr/resize.h"

#include <numeric>

#include "graph/status.h"
#include "opr/resize_axis.h"
#include "runtime/mcu/code_kernel.h"
#include "runtime/mcu/kernels.h"
#include "runtime/mcu/walk.h"

namespace ashlar::mcu {
namespace {

// Returns the input index for each output index, for each axis.
absl::StatusOr<std::vector<std::vector<int32_t>>> IndicesOf(const Resize& op,
                                                            const KernelRequest& request) {
  const Shape& shape = request.outputs[0].shape;
  std::vector<std::vector<int32_t>> indices;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    indices.emplace_back(static_cast<size_t>(shape[axis]));
    std::iota(indices.back().begin(), indices.back().end(), 0);
  }
  std::vector<InputInfo> infos;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    infos.push_back({request.inputs[i], request.host_values[i]});
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, ResizeAxesOf(op.param(), infos));
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

absl::StatusOr<KernelList> MakeResize(const Resize& op, const KernelRequest& request) {
  const TensorType &input = request.inputs[0], &output = request.outputs[0];
  if (op.param().mode != ResizeMode::kNearest) {
    return absl::UnimplementedError("linear and cubic resizing, expected NEAREST");
  }
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

}  // namespace

void RegisterResizeKernels(KernelRegistry& registry) { registry.Register<Resize>(MakeResize); }

}  // namespace ashlar::mcu
