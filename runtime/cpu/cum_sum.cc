// CumSum, of any numbers, summed in double as the reference does: the output may overwrite the
// input.
#include "opr/cum_sum.h"

#include <algorithm>

#include "graph/status.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kLanes = 64;  // neighbouring columns that are worked on together

absl::StatusOr<KernelList> MakeCumSum(const CumSum& op, const KernelRequest& request) {
  const TensorType& x = request.inputs[0];
  const CumSumParam param = op.param();
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param.axis, x.shape.rank()));
  const AxisView view = AroundAxis(x.shape, axis);
  const LoadRowFunction load = RowLoader(x.dtype, request.processor.isa);
  const StoreRowFunction store = RowStorer(x.dtype, request.processor.isa);
  const int64_t groups = (view.inner + kLanes - 1) / kLanes;
  const int threads = request.threads;
  return OnlyKernel("cum_sum", [=](const KernelArgs& args) {
    ParallelFor(
        threads, view.outer * groups,
        std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, view.length * kLanes)),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t first = i % groups * kLanes, lanes = std::min(kLanes, view.inner - first);
            double sums[kLanes] = {}, row[kLanes];
            for (int64_t k = 0; k < view.length; ++k) {
              const int64_t place = param.reverse ? view.length - 1 - k : k;
              const int64_t at = (i / groups * view.length + place) * view.inner + first;
              load(args.inputs[0], at, 1, lanes, row);
              if (param.exclusive) store(sums, lanes, args.outputs[0], at, 1);
              for (int64_t l = 0; l < lanes; ++l) sums[l] += row[l];
              if (!param.exclusive) store(sums, lanes, args.outputs[0], at, 1);
            }
          }
        });
  });
}

}  // namespace

void RegisterCumSumKernels(KernelRegistry& registry) { registry.Register<CumSum>(MakeCumSum); }

}  // namespace ashlar::cpu
