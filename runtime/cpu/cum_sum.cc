// CumSum for any numeric dtype, summed like the reference: floats in double, integers as wrapping
// ones. The output may overwrite the input.
#include "opr/cum_sum.h"

#include <algorithm>

#include "graph/region.h"
#include "graph/status.h"
#include "opr/base/strided.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kScanLanes = 64;  // adjacent elements loaded together

template <typename Number>
struct Sums {
  CumSumParam param;
  AxisView view;
  RowAccess<Number> rows;

  int64_t groups() const { return CeilDivide(view.inner, kScanLanes); }
};

// Sums adjacent columns, one element of each at a time.
template <typename Number>
void SumColumns(const Sums<Number>& s, int64_t group, const KernelArgs& args) {
  const AxisView& view = s.view;
  const int64_t first = group % s.groups() * kScanLanes,
                lanes = std::min(kScanLanes, view.inner - first);
  Number sums[kScanLanes] = {}, row[kScanLanes];
  for (int64_t k = 0; k < view.length; ++k) {
    const int64_t place = s.param.reverse ? view.length - 1 - k : k;
    const int64_t at = (group / s.groups() * view.length + place) * view.inner + first;
    s.rows.load(args.inputs[0], at, 1, lanes, row);
    if (s.param.exclusive) s.rows.store(sums, lanes, args.outputs[0], at, 1);
    for (int64_t l = 0; l < lanes; ++l) sums[l] += row[l];
    if (!s.param.exclusive) s.rows.store(sums, lanes, args.outputs[0], at, 1);
  }
}

// Sums one contiguous column, a piece at a time.
template <typename Number>
void SumRow(const Sums<Number>& s, int64_t group, const KernelArgs& args) {
  const int64_t length = s.view.length;
  Number sum = 0, row[kScanLanes];
  for (int64_t done = 0; done < length; done += kScanLanes) {
    const int64_t count = std::min(kScanLanes, length - done);
    const int64_t at = group * length + (s.param.reverse ? length - done - count : done);
    s.rows.load(args.inputs[0], at, 1, count, row);
    for (int64_t i = 0; i < count; ++i) {
      Number& element = row[s.param.reverse ? count - 1 - i : i];
      const Number before = sum;
      sum += element;
      element = s.param.exclusive ? before : sum;
    }
    s.rows.store(row, count, args.outputs[0], at, 1);
  }
}

template <typename Number>
KernelList CumSumKernel(const CumSumParam& param, int axis, const KernelRequest& request) {
  const TensorType& x = request.inputs[0];
  const Sums<Number> sums = {param, AroundAxis(x.shape, axis), {x.dtype, request.processor.isa}};
  const int64_t at_once = std::max<int64_t>(
      1, kElementsPerThread /
             std::max<int64_t>(1, sums.view.length * std::min(sums.view.inner, kScanLanes)));
  const int threads = request.threads;
  return OnlyKernel("cum_sum", [=](const KernelArgs& args) {
    ParallelFor(threads, sums.view.outer * sums.groups(), at_once, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (sums.view.inner == 1) {
          SumRow(sums, i, args);
        } else {
          SumColumns(sums, i, args);
        }
      }
    });
  });
}

absl::StatusOr<KernelList> MakeCumSum(const CumSum& op, const KernelRequest& request) {
  const TensorType& x = request.inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.param().axis, x.shape.rank()));
  return WithNumber(x.dtype, [&]<typename Number>(Number) {
    return CumSumKernel<Number>(op.param(), axis, request);
  });
}

}  // namespace

void RegisterCumSumKernels(KernelRegistry& registry) { registry.Register<CumSum>(MakeCumSum); }

}  // namespace ashlar::cpu
