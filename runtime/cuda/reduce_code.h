// Reductions: one thread or one team per output element. Members of a team fold interleaved
// elements; their results are combined within warps, then across them (toolkit/grid.h). Compiles
// for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_REDUCE_CODE_H_
#define ASHLAR_RUNTIME_CUDA_REDUCE_CODE_H_

#include "runtime/cuda/fold.h"
#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"

namespace ashlar::cuda {

// The parameters of a reduction. Output element i folds the elements that `folded` visits, starting
// at the address given by `kept`.
struct ReduceParams {
  Walk<2> kept;    // operand 0: the output, operand 1: the input
  Walk<1> folded;  // over the input
  Scalar from = Scalar::kFloat32, to = Scalar::kFloat32;
  FoldKind kind = FoldKind::kSum;
  double divisor = 1;
  bool by_team = false;  // one team per output element, instead of one thread
  const void* in = nullptr;
  void* out = nullptr;
};
LaunchError Launch(const ReduceParams& params, void* stream);

template <typename Real, typename Team>
ASHLAR_HD void ReduceAt(const ReduceParams& p, int64_t number, const Team& team) {
  int64_t at[2];
  Locate(p.kept, number, at);
  const FoldTwo<Real> fold = {p.kind};
  Real total = FoldIdentity<Real>(p.kind);
  for (int64_t i = team.rank(); i < p.folded.extents.elements; i += team.size()) {
    int64_t offset[1];
    Locate(p.folded, i, offset);
    const Real x = LoadAs<Real>(p.from, p.in, at[1] + offset[0]);
    total = fold(total, p.kind == FoldKind::kSumSqr ? x * x : x);
  }
  total = team.All(total, fold);
  if (team.rank() == 0) {
    StoreAs(p.to, p.out, at[0], total / ParameterAs<Real>(p.divisor));
  }
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_REDUCE_CODE_H_
