#include "runtime/cuda/conv/conv_problem.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "runtime/device/convolution_request.h"

namespace ashlar::cuda {
namespace {

// Crops the image as negative padding demands.
void CropSource(ConvProblem& problem) {
  ImageStrides& strides = problem.src_strides;
  strides = StridesOf(problem.src);
  const auto crop = [&](WindowAxis& axis, int dimension, int64_t stride) {
    const int64_t before = std::max<int64_t>(0, -axis.pad_begin);
    const int64_t behind = std::max<int64_t>(0, -axis.pad_end);
    problem.src_offset += before * stride;
    axis.input -= before + behind;
    axis.pad_begin += before;
    axis.pad_end += behind;
    problem.src.shape[dimension] = axis.input;
  };
  crop(problem.geometry.h, 2, strides.h);
  crop(problem.geometry.w, 3, strides.w);
  // With a single image, its distance to the next one does not matter: some of its rows are an
  // image, too.
  if (problem.src.shape[0] == 1) strides.n = StridesOf(problem.src).n;
}

}  // namespace

SourceBounds ConvProblem::source_bounds() const {
  SourceBounds bounds;
  if (!param.clamps_src()) return bounds;
  HostTensor both = HostTensor::Zeros(src.dtype, {2});  // rounds the bounds
  both.Set(0, param.src_low);
  both.Set(1, param.src_high);
  bounds.any = true;
  bounds.low = static_cast<float>(both.At(0));
  bounds.high = static_cast<float>(both.At(1));
  return bounds;
}

absl::StatusOr<ConvProblem> ReadConvolution(const KernelRequest& request,
                                            const ConvBiasParam& param) {
  auto problem = ReadConvolutionRequest<ConvProblem>(request, param);
  problem.policy = request.policy;
  if (param.compute_mode == ComputeMode::kFloat32) {
    problem.policy.exact = true;
    problem.policy.allow_tf32 = false;
  }
  if (problem.filter.format != Format::kDefault) {
    return absl::UnimplementedError(
        absl::StrCat("filter is ", problem.filter.ToString(), ", expected row-major"));
  }
  ASHLAR_ASSIGN_OR_RETURN(problem.geometry,
                          InferConvolution(problem.param, problem.src, problem.filter));
  CropSource(problem);
  return problem;
}

}  // namespace ashlar::cuda
