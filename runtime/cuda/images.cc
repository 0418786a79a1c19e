// PoolingForward, LRN and BatchNorm.
#include <string>

#include "graph/status.h"
#include "opr/batch_norm.h"
#include "opr/lrn.h"
#include "opr/pooling.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/walks.h"

namespace ashlar::cuda {
namespace {

constexpr int kPackBytes = 16;

// The index space of an image's elements in the order of its memory, packs of channels being one.
Extents ImageExtents(const TensorType& image, int pack) {
  const Shape& s = image.shape;
  return ExtentsOf(image.format == Format::kNHWC ? Shape{s[0], s[2], s[3], s[1] / pack} : s);
}

WindowSteps StepsOf(const WindowAxis& axis) {
  return {axis.input, axis.window, axis.stride, axis.dilation, axis.pad_begin};
}

absl::StatusOr<KernelList> MakePooling(const KernelRequest& request) {
  const PoolingParam& param = static_cast<const PoolingForward&>(*request.op).param();
  const TensorType &src = request.inputs[0], &dst = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry, InferPooling(param, src));
  static_assert(static_cast<int>(PoolKind::kAverageInside) ==
                static_cast<int>(PoolingMode::kAverageCountExcludePadding));
  PoolParams params;
  params.dtype = ScalarOf(dst.dtype);
  params.kind = static_cast<PoolKind>(param.mode);
  params.channels_last = dst.format == Format::kNHWC;
  const int most = kPackBytes / static_cast<int>(SizeOf(dst.dtype));
  const bool both_last = params.channels_last && src.format == Format::kNHWC;
  params.pack = both_last && dst.shape[1] % most == 0 ? most : 1;
  params.extents = ImageExtents(dst, params.pack);
  params.h = StepsOf(geometry.h);
  params.w = StepsOf(geometry.w);
  params.in_steps = cuda::StepsOf(src);
  params.out_steps = cuda::StepsOf(dst);
  return OnlyLaunch(params.pack > 1 ? "pooling:packs" : "pooling",
                    [params](const KernelArgs& args, void* stream) {
                      PoolParams bound = params;
                      bound.in = args.inputs[0];
                      bound.out = args.outputs[0];
                      return Launch(bound, stream);
                    });
}

// The kernels below read their input as it lies, in the format of the output.
absl::Status CheckSameFormat(const KernelRequest& request) {
  if (request.inputs[0].format == request.outputs[0].format) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("from ", request.inputs[0].ToString(), " to ", request.outputs[0].ToString()));
}

absl::StatusOr<KernelList> MakeLrn(const KernelRequest& request) {
  ASHLAR_RETURN_IF_ERROR(CheckSameFormat(request));
  const LRNParam& param = static_cast<const LRN&>(*request.op).param();
  const TensorType& image = request.outputs[0];
  LrnParams params;
  params.extents = ImageExtents(image, 1);
  params.channels_last = image.format == Format::kNHWC;
  params.channels = image.shape[1];
  params.before = (param.size - 1) / 2;
  params.after = param.size / 2;
  params.factor = static_cast<float>(param.alpha / static_cast<double>(param.size));
  params.bias = static_cast<float>(param.bias);
  params.beta = static_cast<float>(param.beta);
  params.steps = cuda::StepsOf(image);
  return OnlyLaunch("lrn", [params](const KernelArgs& args, void* stream) {
    LrnParams bound = params;
    bound.in = static_cast<const float*>(args.inputs[0]);
    bound.out = static_cast<float*>(args.outputs[0]);
    return Launch(bound, stream);
  });
}

absl::StatusOr<KernelList> MakeBatchNorm(const KernelRequest& request) {
  ASHLAR_RETURN_IF_ERROR(CheckSameFormat(request));
  const TensorType& x = request.inputs[BatchNorm::kX];
  BatchNormParams params;
  params.elements = x.shape.num_elements();
  params.channels = x.shape[1];
  if (x.format == Format::kDefault) {
    params.inner = params.elements / (x.shape[0] * x.shape[1]);
  }
  params.epsilon = static_cast<float>(static_cast<const BatchNorm&>(*request.op).param().epsilon);
  return OnlyLaunch("batch_norm", [params](const KernelArgs& args, void* stream) {
    const auto input = [&](int i) { return static_cast<const float*>(args.inputs[i]); };
    BatchNormParams bound = params;
    bound.in = input(BatchNorm::kX);
    bound.scale = input(BatchNorm::kScale);
    bound.bias = input(BatchNorm::kBias);
    bound.mean = input(BatchNorm::kMean);
    bound.variance = input(BatchNorm::kVariance);
    bound.out = static_cast<float*>(args.outputs[0]);
    return Launch(bound, stream);
  });
}

}  // namespace

void RegisterImageKernels(KernelRegistry& registry) {
  registry.Register("BatchNorm", MakeBatchNorm);
  registry.Register("LRN", MakeLrn);
  registry.Register("PoolingForward", MakePooling);
}

}  // namespace ashlar::cuda
