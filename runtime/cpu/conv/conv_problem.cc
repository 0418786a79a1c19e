#include "runtime/cpu/conv/conv_problem.h"

#include <utility>

#include "graph/status.h"
#include "runtime/device/convolution_request.h"

namespace ashlar::cpu {
namespace {

void Turn(TensorType& type) {
  const int last = type.shape.rank() - 1;
  std::swap(type.shape[last - 1], type.shape[last]);
}

// Whether images and windows are one element wide. The same bytes are then images of one row.
bool IsColumn(const ConvProblem& problem) {
  const WindowAxis& w = problem.geometry.w;
  const bool narrow = w.input == 1 && w.window == 1 && w.output == 1 && w.pad_begin == 0;
  const auto by_rows = [](const TensorType& type) { return type.format == Format::kNHCW16c; };
  return narrow && problem.geometry.h.input > 1 && !by_rows(problem.src) && !by_rows(problem.dst) &&
         !(problem.z && by_rows(*problem.z));
}

// Kernels compute several neighbours in a row at once, so columns become rows: convolutions of
// sequences often have their time along H.
void TurnColumn(ConvProblem& problem) {
  ConvBiasParam& param = problem.param;
  std::swap(param.pad_h, param.pad_w);
  std::swap(param.pad_h_end, param.pad_w_end);
  std::swap(param.stride_h, param.stride_w);
  std::swap(param.dilate_h, param.dilate_w);
  std::swap(problem.geometry.h, problem.geometry.w);
  for (TensorType* type : {&problem.src, &problem.filter, &problem.dst}) Turn(*type);
  if (problem.z) Turn(*problem.z);
}

}  // namespace

absl::StatusOr<ConvProblem> ReadConvolution(const KernelRequest& request,
                                            const ConvBiasParam& param) {
  if (param.clamps_src()) {
    return absl::UnimplementedError("src_low and src_high are for kernels of GPUs");
  }
  auto problem = ReadConvolutionRequest<ConvProblem>(request, param);
  problem.processor = request.processor;
  problem.threads = request.threads;
  ASHLAR_ASSIGN_OR_RETURN(problem.geometry, InferConvolution(param, problem.src, problem.filter));
  if (IsColumn(problem)) TurnColumn(problem);
  problem.weights = FilterView::Of(problem.geometry, problem.flipped());
  return problem;
}

ConvStrides::ConvStrides(const ConvProblem& problem)
    : src(StridesOf(problem.src)),
      z(StridesOf(problem.z.value_or(problem.dst))),
      dst(StridesOf(problem.dst)) {}

}  // namespace ashlar::cpu
