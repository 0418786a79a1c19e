// ResizeBytes.
#include "opr/resize_bytes.h"

#include "graph/status.h"
#include "opr/resize_axis.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/resize_bytes_code.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

ByteResizeAxis AxisOf(const ResizeParam& param, const ResizeAxis& axis) {
  ByteResizeAxis made;
  made.positions = FixedPointPositionsOf(param, axis);
  made.whole_input = axis.whole_input;
  made.input_begin = axis.input_begin;
  made.output_begin = axis.output_begin;
  return made;
}

absl::StatusOr<KernelList> MakeResizeBytes(const ResizeBytes& op, const KernelRequest& request) {
  const TensorType &src = request.inputs[0], &dst = request.outputs[0];
  if (dst.shape.num_elements() == 0) return NoLaunch();
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes,
                          ResizeAxesOf(op.param(), request.infos()));
  ByteResizeParams params;
  params.channels_last = dst.format == Format::kNHWC;
  params.extents = ImageExtents(dst, 1);
  params.is_signed = src.dtype == DType::kQuantizedS8;
  params.h = AxisOf(op.param(), axes[0]);
  params.w = AxisOf(op.param(), axes[1]);
  params.in_steps = StepsOf(src);
  params.out_steps = StepsOf(dst);
  return OnlyLaunchOnFirst("int8:resize", params);
}

}  // namespace

void RegisterResizeBytesKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<ResizeBytes>(MakeResizeBytes);
}

}  // namespace ashlar::cuda
