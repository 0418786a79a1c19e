// Reduce, Softmax, MatrixMul and MatrixMulBias.
#include <utility>

#include "graph/status.h"
#include "opr/axis.h"
#include "opr/matrix_mul_bias.h"
#include "opr/reduce.h"
#include "opr/softmax.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/walks.h"

namespace ashlar::cuda {
namespace {

static_assert(static_cast<int>(FoldKind::kMean) == static_cast<int>(ReduceMode::kMean));

// A team is worth its while for this many elements a result.
constexpr int64_t kTeamElements = 64;
// Expected time over that of the library's product.
constexpr double kDirectSlowdown = 20;

absl::StatusOr<KernelList> MakeReduce(const KernelRequest& request) {
  const ReduceMode mode = static_cast<const Reduce&>(*request.op).param().mode;
  const TensorType &input = request.inputs[0], &output = request.outputs[0];
  if (output.shape.num_elements() == 0) return NoLaunch();
  ReduceParams params;
  params.from = ScalarOf(input.dtype);
  params.to = ScalarOf(output.dtype);
  params.kind = static_cast<FoldKind>(mode);
  const Strides in = StridesOver(input, input.shape);
  const Strides out = StridesOver(output, input.shape);
  Shape kept, folded;
  std::array<Strides, 2> kept_strides;
  std::array<Strides, 1> folded_strides;
  for (int axis = 0; axis < input.shape.rank(); ++axis) {
    if (out[axis] != 0 || input.shape[axis] == 1) {
      kept.push_back(input.shape[axis]);
      kept_strides[0].push_back(out[axis]);
      kept_strides[1].push_back(in[axis]);
    } else {
      folded.push_back(input.shape[axis]);
      folded_strides[0].push_back(in[axis]);
    }
  }
  OrderByMemory(kept, kept_strides);
  OrderByMemory(folded, folded_strides);
  params.kept = MakeWalk<2>(kept, kept_strides);
  params.folded = MakeWalk<1>(folded, folded_strides);
  if (mode == ReduceMode::kMean) params.divisor = static_cast<double>(folded.num_elements());
  // Neighbouring threads on neighbouring results read neighbouring elements where the results lie
  // side by side; elsewhere a team reads along a result's own elements.
  const bool side_by_side = kept_strides[1].back() == 1 && kept[kept.rank() - 1] >= 32;
  params.by_team = folded.num_elements() >= kTeamElements && !side_by_side;
  return OnlyLaunchOnFirst(params.by_team ? "reduce:teams" : "reduce", params);
}

absl::StatusOr<KernelList> MakeSoftmax(const KernelRequest& request) {
  const Shape& shape = request.outputs[0].shape;
  ASHLAR_ASSIGN_OR_RETURN(
      const int axis,
      NormalizeAxis(static_cast<const Softmax&>(*request.op).param().axis, shape.rank()));
  SoftmaxParams params;
  params.length = shape[axis];
  params.step = ContiguousStrides(shape)[axis];
  params.rows = shape.num_elements() / params.length;
  params.from = ScalarOf(request.inputs[0].dtype);
  return OnlyLaunchOnFirst("softmax", params);
}

// One thread an element of the output.
absl::StatusOr<std::unique_ptr<Kernel>> DirectMatrixMul(const KernelRequest& request,
                                                        double relative_time) {
  const MatrixMulBiasParam param = ProductParam(*request.op);
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

}  // namespace

MatrixMulBiasParam ProductParam(const Operator& op) {
  if (op.type() == "MatrixMulBias") return static_cast<const MatrixMulBias&>(op).param();
  MatrixMulBiasParam param;
  static_cast<MatrixMulParam&>(param) = static_cast<const MatrixMul&>(op).param();
  return param;
}

void RegisterFoldKernels(KernelRegistry& registry, const LibraryKernels& libraries) {
  registry.Register("Reduce", MakeReduce);
  registry.Register("Softmax", MakeSoftmax);
  const auto product =
      [library = libraries.matrix_mul](const KernelRequest& request) -> absl::StatusOr<KernelList> {
    KernelList kernels;
    if (library) {
      ASHLAR_ASSIGN_OR_RETURN(kernels, library(request));
    }
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> direct,
                            DirectMatrixMul(request, kernels.empty() ? 1.0 : kDirectSlowdown));
    kernels.push_back(std::move(direct));
    return kernels;
  };
  registry.Register("MatrixMul", product);
  registry.Register("MatrixMulBias", product);
}

}  // namespace ashlar::cuda
