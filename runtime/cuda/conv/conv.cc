#include "runtime/cuda/conv/conv.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "graph/status.h"
#include "runtime/cuda/conv/quantized.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/quantized.h"
#include "runtime/device/convolution_request.h"

namespace ashlar::cuda {
namespace {

constexpr int kSrc = ConvBiasForward::kSrc, kFilter = ConvBiasForward::kFilter,
              kBias = ConvBiasForward::kBias, kZ = ConvBiasForward::kZ;

// Expected time relative to the library: nothing is reused from faster memory.
constexpr double kDirectSlowdown = 30;

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

const ConvBiasParam& ParamOf(const ConvBiasForward& op) { return op.param(); }
ConvBiasParam ParamOf(const ConvolutionForward& op) { return {op.param()}; }

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

void RegisterConvolutionKernels(KernelRegistry& registry, const LibraryKernels& libraries) {
  const auto make = [library = libraries.convolution, products = libraries.byte_products](
                        const auto& op,
                        const KernelRequest& request) -> absl::StatusOr<KernelList> {
    ASHLAR_ASSIGN_OR_RETURN(const ConvProblem problem, ReadConvolution(request, ParamOf(op)));
    KernelList kernels;
    if (IsByteType(problem.src)) {
      if (problem.z)
        return absl::UnimplementedError("z of 8 bits, which the pass sum adds on CPUs");
      ASHLAR_ASSIGN_OR_RETURN(kernels, QuantizedConvolutionKernels(problem));
      ASHLAR_ASSIGN_OR_RETURN(KernelList by_product,
                              QuantizedConvolutionsByProduct(problem, products));
      std::move(by_product.begin(), by_product.end(), std::back_inserter(kernels));
      return kernels;
    }
    if (library && !problem.param.clamps_src()) {
      ASHLAR_ASSIGN_OR_RETURN(kernels, LibraryConvolutions(problem, library));
    }
    KernelList depthwise = DepthwiseConvolutions(problem);
    kernels.insert(kernels.begin(), std::make_move_iterator(depthwise.begin()),
                   std::make_move_iterator(depthwise.end()));
    kernels.push_back(MakeDirectConvolution(problem, kernels.empty() ? 1.0 : kDirectSlowdown));
    return kernels;
  };
  std::vector<DType> dtypes = WithBytes(kFloats);
  dtypes.push_back(DType::kQuantizedS32);  // for a bias
  registry.Register<ConvBiasForward>(make, std::move(dtypes));
  registry.Register<ConvolutionForward>(make, kFloats);
}

}  // namespace ashlar::cuda
