// Reduce.
#include "opr/reduce.h"

#include "graph/status.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/reduce_code.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

static_assert(static_cast<int>(FoldKind::kMean) == static_cast<int>(ReduceMode::kMean));

// A team pays off from so many elements per result.
constexpr int64_t kTeamElements = 64;

absl::StatusOr<KernelList> MakeReduce(const Reduce& op, const KernelRequest& request) {
  const ReduceMode mode = op.param().mode;
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
  // If results are adjacent, adjacent threads compute adjacent results and read adjacent elements.
  // Otherwise a team reads along one result's elements.
  const bool side_by_side = kept_strides[1].back() == 1 && kept[kept.rank() - 1] >= 32;
  params.by_team = folded.num_elements() >= kTeamElements && !side_by_side;
  return OnlyLaunchOnFirst(params.by_team ? "reduce:teams" : "reduce", params);
}

}  // namespace

void RegisterReduceKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<Reduce>(MakeReduce, kComputed);
}

}  // namespace ashlar::cuda
