// LRN and BatchNorm.
#include <string>

#include "graph/status.h"
#include "opr/batch_norm.h"
#include "opr/lrn.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/walks.h"

namespace ashlar::cuda {
namespace {

// The index space of an image's elements in the order of its memory.
Extents ImageExtents(const TensorType& image) {
  const Shape& s = image.shape;
  return ExtentsOf(image.format == Format::kNHWC ? Shape{s[0], s[2], s[3], s[1]} : s);
}

// Both kernels read their input as it lies, in the format of the output.
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
  params.extents = ImageExtents(image);
  params.channels_last = image.format == Format::kNHWC;
  params.dtype = ScalarOf(image.dtype);
  params.channels = image.shape[1];
  params.before = (param.size - 1) / 2;
  params.after = param.size / 2;
  params.factor = static_cast<float>(param.alpha / static_cast<double>(param.size));
  params.bias = static_cast<float>(param.bias);
  params.beta = static_cast<float>(param.beta);
  params.steps = cuda::StepsOf(image);
  return OnlyLaunchOnFirst("lrn", params);
}

absl::StatusOr<KernelList> MakeBatchNorm(const KernelRequest& request) {
  ASHLAR_RETURN_IF_ERROR(CheckSameFormat(request));
  const TensorType& x = request.inputs[BatchNorm::kX];
  BatchNormParams params;
  const int64_t channels = x.shape[1], pixels = x.shape.num_elements() / channels;
  params.extents =
      ExtentsOf(x.format == Format::kDefault ? Shape{x.shape[0], channels, pixels / x.shape[0]}
                                             : Shape{pixels, channels, 1});
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
}

}  // namespace ashlar::cuda
