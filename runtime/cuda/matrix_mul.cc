// MatrixMul and MatrixMulBias.
#include <utility>

#include "graph/status.h"
#include "opr/matrix_mul_bias.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/matrix_mul_code.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

// Expected time relative to the library's product.
constexpr double kProductSlowdown = 20;

// Returns the kernel with one thread per output element.
absl::StatusOr<std::unique_ptr<Kernel>> DirectMatrixMul(const MatrixMulBiasParam& param,
                                                        const KernelRequest& request,
                                                        double relative_time) {
  ASHLAR_ASSIGN_OR_RETURN(const MatrixMulGeometry geometry,
                          InferMatrixMul(param, request.inputs[0], request.inputs[1]));
  MatrixParams params;
  params.m = geometry.m;
  params.k = geometry.k;
  params.n = geometry.n;
  params.a_row = param.transposeA ? 1 : geometry.k;
  params.a_column = param.transposeA ? geometry.m : 1;
  params.b_row = param.transposeB ? 1 : geometry.n;
  params.b_column = param.transposeB ? geometry.k : 1;
  params.dtype = ScalarOf(request.inputs[0].dtype);
  params.relu = param.relu;
  const bool has_bias = request.inputs.size() > MatrixMulBias::kBias;
  Shape batch = geometry.batch;
  std::array<Strides, 2> strides = {
      Strides(geometry.batch_strides_a.begin(), geometry.batch_strides_a.end()),
      Strides(geometry.batch_strides_b.begin(), geometry.batch_strides_b.end())};
  JoinDimensions(batch, strides);
  params.batch = MakeWalk<2>(batch, strides);
  return std::make_unique<LaunchedKernel>(
      "direct",
      [params, has_bias](const KernelArgs& args, void* stream) {
        MatrixParams bound = params;
        bound.a = args.inputs[0];
        bound.b = args.inputs[1];
        bound.bias = has_bias ? args.inputs[MatrixMulBias::kBias] : nullptr;
        bound.out = args.outputs[0];
        return Launch(bound, stream);
      },
      relative_time);
}

// A MatrixMul is a MatrixMulBias without ReLU.
const MatrixMulBiasParam& MatrixParamOf(const MatrixMulBias& op) { return op.param(); }
MatrixMulBiasParam MatrixParamOf(const MatrixMul& op) { return {op.param()}; }

}  // namespace

void RegisterMatrixMulKernels(KernelRegistry& registry, const LibraryKernels& libraries) {
  const auto product = [library = libraries.matrix_mul](
                           const auto& op,
                           const KernelRequest& request) -> absl::StatusOr<KernelList> {
    const MatrixMulBiasParam param = MatrixParamOf(op);
    if (request.inputs[0].shape.num_elements() == 0) {
      return absl::UnimplementedError(
          absl::StrCat("A is ", request.inputs[0].ToString(), ": sums of no products"));
    }
    KernelList kernels;
    if (library) {
      ASHLAR_ASSIGN_OR_RETURN(kernels, library(param, request));
    }
    ASHLAR_ASSIGN_OR_RETURN(
        std::unique_ptr<Kernel> direct,
        DirectMatrixMul(param, request, kernels.empty() ? 1.0 : kProductSlowdown));
    kernels.push_back(std::move(direct));
    return kernels;
  };
  registry.Register<MatrixMul>(product, kFloats);
  registry.Register<MatrixMulBias>(product, kFloats);
}

}  // namespace ashlar::cuda
