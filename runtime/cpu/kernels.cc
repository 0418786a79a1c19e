#include "runtime/cpu/kernels.h"

#include <utility>

#include "graph/status.h"

namespace ashlar::cpu {
namespace {

// The factory for requests whose floats are Float32; others are refused.
KernelFactory Float32Only(KernelFactory factory) {
  return
      [factory = std::move(factory)](const KernelRequest& request) -> absl::StatusOr<KernelList> {
        for (const TensorType& type : request.inputs) {
          if (!IsFloat(type.dtype) || type.dtype == DType::kFloat32) continue;
          return absl::UnimplementedError(absl::StrCat(
              "an input is ", type.ToString(), "; on the CPU this operator takes Float32 only"));
        }
        return factory(request);
      };
}

}  // namespace

void RegisterKernels(KernelRegistry& registry) {
  RegisterBatchNormKernels(registry);
  RegisterConcatKernels(registry);
  RegisterConvolutionKernels(registry);
  RegisterLrnKernels(registry);
  RegisterMatrixMulKernels(registry);
  RegisterMovementKernels(registry);
  RegisterPointwiseKernels(registry);
  RegisterPoolingKernels(registry);
  RegisterReduceKernels(registry);
  RegisterRelayoutKernels(registry);
  RegisterSoftmaxKernels(registry);
  RegisterTypeCvtKernels(registry);
  for (const char* type :
       {"ConvBiasForward", "ConvolutionForward", "LRN", "MatrixMul", "PoolingForward", "Softmax"}) {
    registry.Register(type, Float32Only(*registry.Find(type)));
  }
}

}  // namespace ashlar::cpu
