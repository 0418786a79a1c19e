// PoolingRows.
#include "opr/pooling_rows.h"

#include "opr/quantized_pooling.h"
#include "runtime/cuda/byte_type.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/pooling_rows_code.h"
#include "runtime/cuda/quantized.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

absl::StatusOr<KernelList> MakePoolingRows(const PoolingRows& op, const KernelRequest& request) {
  const TensorType &src = request.inputs[PoolingRows::kStrip], &dst = request.outputs[0];
  if (dst.shape.num_elements() == 0) return NoLaunch();
  PoolRowsParams params;
  params.extents = ExtentsOf(dst.shape);
  params.kind = static_cast<PoolKind>(op.param().mode);
  params.bytes = IsQuantizedTo8Bits(src.dtype);
  params.last = op.param().rows > 0;
  params.rows = src.shape[2];
  params.columns = src.shape[3];
  params.in_steps = StepsOf(src);
  params.out_steps = StepsOf(dst);
  params.count = static_cast<float>(op.param().rows * src.shape[3]);
  if (params.bytes) params.of_in = ByteTypeOf(src);
  if (params.bytes && IsQuantizedTo8Bits(dst.dtype)) {
    params.of_out = ByteTypeOf(dst);
    params.factor = PooledTypes(WholePooling(op.param(), src), src.quantization, dst).factor;
  }
  const bool has_before = request.inputs.size() > 1;
  return OnlyLaunch("pooling_rows", params, [=](PoolRowsParams& bound, const KernelArgs& args) {
    bound.in = args.inputs[PoolingRows::kStrip];
    if (has_before) bound.before = args.inputs[PoolingRows::kBefore];
    bound.out = args.outputs[0];
  });
}

}  // namespace

void RegisterPoolingRowsKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<PoolingRows>(MakePoolingRows, WithBytes({DType::kFloat32, DType::kInt32}));
}

}  // namespace ashlar::cuda
