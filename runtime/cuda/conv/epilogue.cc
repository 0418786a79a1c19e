// Bias, z and activation after a convolution that includes none of them.
#include <vector>

#include "opr/conv_bias.h"
#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/pointwise_chain.h"
#include "runtime/cuda/pointwise_code.h"

namespace ashlar::cuda {

bool NeedsEpilogue(const ConvProblem& problem) {
  return problem.has_bias || problem.z.has_value() ||
         problem.param.nonlineMode != ScalarFunction::kIdentity;
}

std::unique_ptr<Kernel> MakeConvEpilogue(const ConvProblem& problem) {
  std::vector<TensorType> inputs = {problem.dst};
  std::vector<int> sources = {-1};  // inputs of the convolution; -1: the sums
  std::vector<ChainStep> steps;
  const auto add = [&](const TensorType& type, int source) {
    ChainStep step;
    step.call.function = ScalarFunction::kAdd;
    step.b = static_cast<int8_t>(inputs.size());
    steps.push_back(step);
    inputs.push_back(type);
    sources.push_back(source);
  };
  if (problem.has_bias) {
    add({problem.dst.dtype, {1, problem.dst.shape[1], 1, 1}}, ConvBiasForward::kBias);
  }
  if (problem.z.has_value()) add(*problem.z, ConvBiasForward::kZ);
  if (problem.param.nonlineMode != ScalarFunction::kIdentity) {
    steps.push_back(StepOf(ActivationParam(problem.param)));
  }
  const ChainParams params = MakeChain(problem.dst, inputs, steps);
  const bool has_z = problem.z.has_value();
  return std::make_unique<LaunchedKernel>(
      "epilogue",
      [=](const KernelArgs& args, void* stream) {
        const void* const sums = has_z ? args.workspace : args.outputs[0];
        const void* pointers[kMaxInputs] = {};
        for (size_t i = 0; i < sources.size(); ++i) {
          pointers[i] = sources[i] < 0 ? sums : args.inputs[sources[i]];
        }
        KernelArgs chained = args;
        chained.inputs = absl::MakeSpan(pointers, sources.size());
        return LaunchChain(params, chained, stream);
      },
      1.0);
}

}  // namespace ashlar::cuda
