#include "runtime/cuda/conv/conv.h"

#include <iterator>
#include <utility>
#include <vector>

#include "graph/status.h"
#include "opr/convolution.h"
#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/cuda/conv/quantized.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/quantized.h"

namespace ashlar::cuda {
namespace {

// Expected time relative to the library: nothing is reused from faster memory.
constexpr double kDirectSlowdown = 30;

const ConvBiasParam& ParamOf(const ConvBiasForward& op) { return op.param(); }
ConvBiasParam ParamOf(const ConvolutionForward& op) { return {op.param()}; }

}  // namespace

void RegisterConvolutionKernels(KernelRegistry& registry, const LibraryKernels& libraries) {
  const auto make = [library = libraries.convolution, products = libraries.byte_products](
                        const auto& op,
                        const KernelRequest& request) -> absl::StatusOr<KernelList> {
    ASHLAR_ASSIGN_OR_RETURN(const ConvProblem problem, ReadConvolution(request, ParamOf(op)));
    KernelList kernels;
    if (IsQuantizedTo8Bits(problem.src.dtype)) {
      if (problem.z)
        return absl::UnimplementedError("z of 8 bits, which the pass sum adds on CPUs");
      if (problem.dst.dtype == DType::kQuantizedS32)
        return absl::UnimplementedError("sums that are not rounded, which CPUs join");
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
