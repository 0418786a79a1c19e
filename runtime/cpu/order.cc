// ArgReduce and TopK: operators that compare the elements along an axis.
#include <algorithm>
#include <numeric>

#include "graph/region.h"
#include "graph/status.h"
#include "opr/arg_reduce.h"
#include "opr/integer_elemwise.h"
#include "opr/top_k.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

const std::vector<DType> kOrdered = {
    DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32,  DType::kInt8,
    DType::kUint8,   DType::kUint16,  DType::kInt16, DType::kUint32, DType::kUint64};

// Calls visit(T()) for the dtype, which is one of kOrdered.
template <typename Visit>
auto WithOrdered(DType dtype, const Visit& visit) {
  if (dtype == DType::kFloat32) return visit(float());
  if (dtype == DType::kFloat64) return visit(double());
  return WithInteger(dtype, [&]<typename T>() { return visit(T()); });
}

constexpr int64_t kSortLanes = 32;  // adjacent columns processed together

// Reduces `lanes` (at most kSortLanes) adjacent columns of `length` elements, `step` apart.
template <typename T>
void ArgColumns(const T* x, int64_t* y, int64_t lanes, int64_t length, int64_t step,
                ArgReduceMode mode, bool last) {
  T best[kSortLanes];
  int64_t index[kSortLanes] = {};
  std::copy_n(x, lanes, best);
  for (int64_t i = 1; i < length; ++i) {
    const T* const row = x + i * step;
    for (int64_t l = 0; l < lanes; ++l) {
      const bool takes = Displaces(mode, last, row[l], best[l]);
      best[l] = takes ? row[l] : best[l];
      index[l] = takes ? i : index[l];
    }
  }
  std::copy_n(index, lanes, y);
}

absl::StatusOr<KernelList> MakeArgReduce(const ArgReduce& op, const KernelRequest& request) {
  const TensorType& x = request.inputs[0];
  const ArgReduceParam param = op.param();
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param.axis, x.shape.rank()));
  const AxisView view = AroundAxis(x.shape, axis);
  const int64_t groups = (view.inner + kSortLanes - 1) / kSortLanes;
  const int threads = request.threads;
  return WithOrdered(x.dtype, [&]<typename T>(T) {
    const auto columns = NarrowVersions<ArgColumns<T>>::For(request.processor.isa);
    return OnlyKernel("arg_reduce", [=](const KernelArgs& args) {
      const int64_t lanes = std::min(kSortLanes, view.inner);
      ParallelFor(
          threads, view.outer * groups,
          std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, view.length * lanes)),
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t outer = i / groups, first = i % groups * kSortLanes;
              columns(args.Input<T>(0) + outer * view.length * view.inner + first,
                      args.Output<int64_t>(0) + outer * view.inner + first,
                      std::min(kSortLanes, view.inner - first), view.length, view.inner, param.mode,
                      param.last);
            }
          });
    });
  });
}

// Finds the top k of a column of `length` elements; `row` and `order` hold as many.
template <typename T>
void TopOfColumn(const TopKParam& param, const T* x, int64_t length, int64_t step, T* values,
                 int64_t* indices, T* row, int64_t* order) {
  for (int64_t i = 0; i < length; ++i) row[i] = x[i * step];
  std::iota(order, order + length, int64_t{0});
  std::partial_sort(order, order + param.k, order + length, [&](int64_t i, int64_t j) {
    return ComesBefore(param.largest, row[i], i, row[j], j);
  });
  for (int64_t i = 0; i < param.k; ++i) {
    values[i * step] = row[order[i]];
    indices[i * step] = order[i];
  }
}

absl::StatusOr<KernelList> MakeTopK(const TopK& op, const KernelRequest& request) {
  const TensorType& x = request.inputs[0];
  const TopKParam param = op.param();
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param.axis, x.shape.rank()));
  const AxisView view = AroundAxis(x.shape, axis);
  const int threads = request.threads;
  // For each thread: the indices and elements of a column, aligned to a cache line.
  const int64_t bytes = RoundUp(view.length * (8 + SizeOf(x.dtype)), 64);
  return WithOrdered(x.dtype, [&]<typename T>(T) {
    return OnlyKernel(
        "top_k",
        [=](const KernelArgs& args) {
          const int64_t columns = param.k == 0 ? 0 : view.outer * view.inner;
          const int64_t grain =
              std::max<int64_t>(1, kElementsPerThread / 8 / std::max<int64_t>(1, view.length));
          ParallelPieces(threads, (columns + grain - 1) / grain, [&](int64_t piece, int thread) {
            auto* const order =
                reinterpret_cast<int64_t*>(static_cast<char*>(args.workspace) + thread * bytes);
            auto* const row = reinterpret_cast<T*>(order + view.length);
            for (int64_t i = piece * grain; i < std::min((piece + 1) * grain, columns); ++i) {
              const int64_t outer = i / view.inner, inner = i % view.inner;
              const int64_t to = outer * param.k * view.inner + inner;
              TopOfColumn(param, args.Input<T>(0) + outer * view.length * view.inner + inner,
                          view.length, view.inner, args.Output<T>(0) + to,
                          args.Output<int64_t>(1) + to, row, order);
            }
          });
        },
        threads * bytes);
  });
}

}  // namespace

void RegisterOrderKernels(KernelRegistry& registry) {
  registry.Register<ArgReduce>(MakeArgReduce, kOrdered);
  registry.Register<TopK>(MakeTopK, kOrdered);
}

}  // namespace ashlar::cpu
