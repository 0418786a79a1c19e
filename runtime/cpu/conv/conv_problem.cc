#include "runtime/cpu/conv/conv_problem.h"

#include "graph/status.h"
#include "runtime/device/convolution_request.h"

namespace ashlar::cpu {

absl::StatusOr<ConvProblem> ReadConvolution(const KernelRequest& request,
                                            const ConvBiasParam& param) {
  if (param.clamps_src()) {
    return absl::UnimplementedError("src_low and src_high are for kernels of GPUs");
  }
  auto problem = ReadConvolutionRequest<ConvProblem>(request, param);
  problem.processor = request.processor;
  problem.threads = request.threads;
  ASHLAR_ASSIGN_OR_RETURN(problem.geometry, InferConvolution(param, problem.src, problem.filter));
  problem.weights = FilterView::Of(problem.geometry, problem.flipped());
  return problem;
}

ConvStrides::ConvStrides(const ConvProblem& problem)
    : src(StridesOf(problem.src)),
      z(StridesOf(problem.z.value_or(problem.dst))),
      dst(StridesOf(problem.dst)) {}

}  // namespace ashlar::cpu
