// 8-bit conversions, pooling, sums, tables and functions of several tensors.
#include "runtime/cuda/quantized.h"

#include <algorithm>
#include <array>

#include "graph/status.h"
#include "opr/quantized_pooling.h"
#include "runtime/cuda/byte_type.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/walk.h"
#include "runtime/device/byte_functions.h"

namespace ashlar::cuda {
namespace {

// Returns a walk over the output (operand 0) and the inputs, which have its shape or broadcast to
// it.
template <int kOperands>
Walk<kOperands> WalkOf(const KernelRequest& request) {
  Shape shape = request.outputs[0].shape;
  std::array<Strides, kOperands> strides;
  strides[0] = StridesOver(request.outputs[0], shape);
  for (size_t k = 1; k < strides.size(); ++k) {
    strides[k] = k <= request.inputs.size() ? StridesOver(request.inputs[k - 1], shape)
                                            : Strides(shape.rank(), 0);
  }
  OrderByMemory(shape, strides);
  return MakeWalk<kOperands>(shape, strides);
}

KernelList TableKernel(const ElemwiseMultiType& op, const KernelRequest& request) {
  const TensorType& output = request.outputs[0];
  if (output.shape.num_elements() == 0) return NoLaunch();
  ByteTableParams params;
  params.walk = WalkOf<2>(request);
  const std::array<uint8_t, 256> table = op.Table(request.inputs[0], output);
  std::copy(table.begin(), table.end(), params.table);
  return OnlyLaunchOnFirst("int8:table", params);
}

KernelList SumKernel(const ElemwiseMultiType& op, const KernelRequest& request) {
  const TensorType& output = request.outputs[0];
  if (output.shape.num_elements() == 0) return NoLaunch();
  ByteSumParams params;
  params.walk = WalkOf<3>(request);
  params.of_a = ByteTypeOf(request.inputs[0]);
  params.of_b = ByteTypeOf(request.inputs[1]);
  params.of_out = ByteTypeOf(output);
  params.fixed = op.FixedSum(request.inputs[0].quantization, request.inputs[1].quantization,
                             output.quantization);
  if (op.param().rectifies()) {
    params.of_out.least = params.of_out.zero_point;
  }
  return OnlyLaunch("int8:sum", params, [](ByteSumParams& bound, const KernelArgs& args) {
    bound.a = args.inputs[0];
    bound.b = args.inputs[1];
    bound.out = args.outputs[0];
  });
}

KernelList FunctionKernel(const ElemwiseMultiType& op, const KernelRequest& request) {
  const TensorType& output = request.outputs[0];
  if (output.shape.num_elements() == 0) return NoLaunch();
  ByteFunctionParams params;
  params.walk = WalkOf<4>(request);
  params.function = op.param().mode;
  params.inputs = static_cast<int>(request.inputs.size());
  for (size_t k = 0; k < request.inputs.size(); ++k) {
    params.floats[k] = request.inputs[k].dtype == DType::kFloat32;
    if (!params.floats[k]) params.of_in[k] = ByteTypeOf(request.inputs[k]);
  }
  params.of_out = ByteTypeOf(output);
  return OnlyLaunch("int8:function", params, [](ByteFunctionParams& bound, const KernelArgs& args) {
    std::copy(args.inputs.begin(), args.inputs.end(), bound.in);
    bound.out = args.outputs[0];
  });
}

}  // namespace

absl::StatusOr<KernelList> QuantizedConversionKernels(const KernelRequest& request) {
  const TensorType &from = request.inputs[0], &to = request.outputs[0];
  const bool quantizes = from.dtype == DType::kFloat32;
  const TensorType &floats = quantizes ? from : to, &integers = quantizes ? to : from;
  if (floats.dtype != DType::kFloat32 || !IsQuantizedTo8Bits(integers.dtype) ||
      integers.quantization.scales().size() != 1) {
    return absl::UnimplementedError(absl::StrCat("from ", from.ToString(), " to ", to.ToString(),
                                                 ": expected Float32 and 8 bits of one scale"));
  }
  ByteConvertParams params;
  params.walk = WalkOf<2>(request);
  params.quantizes = quantizes;
  params.type = ByteTypeOf(integers);
  return OnlyLaunchOnFirst("int8:convert", params);
}

absl::StatusOr<KernelList> QuantizedPoolingKernels(const PoolingForward& op,
                                                   const KernelRequest& request) {
  const TensorType &src = request.inputs[0], &dst = request.outputs[0];
  if (dst.shape.num_elements() == 0) return NoLaunch();
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry, InferPooling(op.param(), src));
  BytePoolParams params;
  params.channels_last = dst.format == Format::kNHWC;
  params.extents = ImageExtents(dst, 1);
  const PoolingMode mode = op.param().mode;
  params.kind = mode == PoolingMode::kMax       ? BytePoolKind::kMax
                : mode == PoolingMode::kAverage ? BytePoolKind::kExactMean
                                                : BytePoolKind::kMean;
  params.h = StepsOf(geometry.h);
  params.w = StepsOf(geometry.w);
  params.in_steps = StepsOf(src);
  params.out_steps = StepsOf(dst);
  params.of_in = ByteTypeOf(src);
  params.of_out = ByteTypeOf(dst);
  params.factor = PooledTypes(op.param(), src.quantization, dst).factor;
  return OnlyLaunchOnFirst("int8:pooling", params);
}

void RegisterQuantizedKernels(KernelRegistry& registry, const LibraryKernels&) {
  RegisterByteFunctions(registry, TableKernel, SumKernel, FunctionKernel);
}

}  // namespace ashlar::cuda
