// Dropout.
#include "opr/dropout.h"

#include "runtime/cuda/dropout_code.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

absl::StatusOr<KernelList> MakeDropout(const Dropout& op, const KernelRequest& request) {
  DropoutParams params;
  params.elements = request.outputs[0].shape.num_elements();
  if (params.elements == 0) return NoLaunch();
  params.dtype = ScalarOf(request.inputs[Dropout::kX].dtype);
  params.step_dtype = ScalarOf(request.inputs[Dropout::kStep].dtype);
  params.seed = op.param().seed;
  params.threshold = DropoutThreshold(op.param().probability);
  params.scale = static_cast<float>(1 / (1 - op.param().probability));
  return OnlyLaunch("dropout", params, [](DropoutParams& bound, const KernelArgs& args) {
    bound.in = args.inputs[Dropout::kX];
    bound.step = args.inputs[Dropout::kStep];
    bound.out = args.outputs[0];
  });
}

}  // namespace

void RegisterDropoutKernels(KernelRegistry& registry, const LibraryKernels&) {
  std::vector<DType> dtypes = kFloats;
  dtypes.insert(dtypes.end(), {DType::kInt32, DType::kInt64});  // dtypes of the step
  registry.Register<Dropout>(MakeDropout, dtypes);
}

}  // namespace ashlar::cuda
