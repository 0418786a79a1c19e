// GridSample.
#include "opr/grid_sample.h"

#include "graph/region.h"
#include "graph/status.h"
#include "runtime/cuda/grid_sample_code.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

absl::StatusOr<KernelList> MakeGridSample(const GridSample& op, const KernelRequest& request) {
  const Shape &x = request.inputs[0].shape, &grid = request.inputs[1].shape;
  GridSampleParams params;
  params.sampling = op.param();
  params.dtype = ScalarOf(request.inputs[0].dtype);
  params.axes = x.rank() - 2;
  params.channels = x[1];
  params.plane = 1;
  int64_t points = 1;
  for (int axis = 0; axis < params.axes; ++axis) {
    params.size[axis] = x[x.rank() - 1 - axis];
    params.plane *= params.size[axis];
    points *= grid[axis + 1];
  }
  if (request.outputs[0].shape.num_elements() == 0) return NoLaunch();
  params.extents = ExtentsOf({x[0], CeilDivide(x[1], kGridSampleChannels), points});
  return OnlyLaunch("grid_sample", params, [](GridSampleParams& bound, const KernelArgs& args) {
    bound.in = args.inputs[0];
    bound.grid = args.inputs[1];
    bound.out = args.outputs[0];
  });
}

}  // namespace

void RegisterGridSampleKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<GridSample>(MakeGridSample, kFloats);
}

}  // namespace ashlar::cuda
