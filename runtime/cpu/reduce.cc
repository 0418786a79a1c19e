// Reduce: folds elements into each kept element, floats in double and integers as wrapping ones.
// If kept elements are adjacent in memory, whole rows are folded at a time. If folded elements are
// adjacent, there are 16 partial results.
#include "opr/reduce.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "opr/base/scalar_functions.h"
#include "opr/base/strided.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kReducedRow = 256;  // elements

template <typename Number>
constexpr Number Initial(ReduceMode mode) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (mode) {
    case ReduceMode::kProduct:
      return 1;
    case ReduceMode::kMin:
      return ParameterAs<Number>(kInfinity);
    case ReduceMode::kMax:
      return ParameterAs<Number>(-kInfinity);
    default:
      return 0;
  }
}

// Joins two partial results; propagates NaN.
template <ReduceMode kMode, typename Number>
Number Join(Number a, Number b) {
  switch (kMode) {
    case ReduceMode::kProduct:
      return a * b;
    case ReduceMode::kMin:
      return b < a || b != b ? b : a;
    case ReduceMode::kMax:
      return b > a || b != b ? b : a;
    default:
      return a + b;
  }
}

template <ReduceMode kMode, typename Number>
Number Term(Number x) {
  return kMode == ReduceMode::kSumSqr ? x * x : x;
}

// Folds row[i] into totals[i].
template <ReduceMode kMode, typename Number>
void TakeEach(const Number* row, int64_t n, Number* totals) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) totals[i] = Join<kMode>(totals[i], Term<kMode>(row[i]));
}

// Folds the whole row into totals[0], by independent partial results.
template <ReduceMode kMode, typename Number>
void TakeAll(const Number* row, int64_t n, Number* totals) {
  constexpr int kPartial = 16;
  Number partial[kPartial];
  for (Number& p : partial) p = Initial<Number>(kMode);
  int64_t i = 0;
  for (; i + kPartial <= n; i += kPartial) {
#pragma omp simd
    for (int j = 0; j < kPartial; ++j) {
      partial[j] = Join<kMode>(partial[j], Term<kMode>(row[i + j]));
    }
  }
  for (; i < n; ++i) partial[0] = Join<kMode>(partial[0], Term<kMode>(row[i]));
  for (Number p : partial) totals[0] = Join<kMode>(totals[0], p);
}

template <typename Number>
struct ModeFunctions {
  using Take = void (*)(const Number*, int64_t, Number*);
  Number initial;
  Take each, all;
};

template <ReduceMode kMode, typename Number>
ModeFunctions<Number> FunctionsOf(Isa isa) {
  if constexpr (kWraps<Number>) {  // too rare for more than one version
    return {Initial<Number>(kMode), TakeEach<kMode, Number>, TakeAll<kMode, Number>};
  } else {
    return {Initial<Number>(kMode), Versions<TakeEach<kMode, Number>>::For(isa),
            Versions<TakeAll<kMode, Number>>::For(isa)};
  }
}

template <typename Number>
ModeFunctions<Number> FunctionsOf(ReduceMode mode, Isa isa) {
  switch (mode) {
    case ReduceMode::kSum:
    case ReduceMode::kMean:
      return FunctionsOf<ReduceMode::kSum, Number>(isa);
    case ReduceMode::kSumSqr:
      return FunctionsOf<ReduceMode::kSumSqr, Number>(isa);
    case ReduceMode::kProduct:
      return FunctionsOf<ReduceMode::kProduct, Number>(isa);
    case ReduceMode::kMin:
      return FunctionsOf<ReduceMode::kMin, Number>(isa);
    case ReduceMode::kMax:
      break;
  }
  return FunctionsOf<ReduceMode::kMax, Number>(isa);
}

// A reduction of row-major tensors: the kept elements in output and input, and how the input is
// walked from each of them.
template <typename Number>
struct Reduction {
  RowLoop<2> kept;
  RowLoop<1> folded;
  ModeFunctions<Number> functions;
  RowAccess<Number> rows;
  Number divisor = 1;
};

// If adjacent kept elements are adjacent in the input: folds whole rows at a time.
template <typename Number>
void FoldRows(const Reduction<Number>& r, const void* input, int64_t offset, int64_t n,
              Number* totals) {
  ForEachRow(r.folded.shape, r.folded.strides, 1, [&](const std::array<int64_t, 1>& at, int64_t) {
    Number row[kReducedRow];
    r.rows.load(input, offset + at[0], 1, n, row);
    r.functions.each(row, n, totals);
  });
}

template <typename Number>
void FoldElement(const Reduction<Number>& r, const void* input, int64_t offset, Number* total) {
  ForEachRow(r.folded.shape, r.folded.strides, kReducedRow,
             [&](const std::array<int64_t, 1>& at, int64_t n) {
               Number row[kReducedRow];
               r.rows.load(input, offset + at[0], r.folded.strides[0].back(), n, row);
               r.functions.all(row, n, total);
             });
}

template <typename Number>
void Run(const Reduction<Number>& r, int threads, const KernelArgs& args) {
  const int64_t step = r.kept.strides[1].back();
  ParallelRows(r.kept, threads, kReducedRow, [&](const std::array<int64_t, 2>& at, int64_t n) {
    Number totals[kReducedRow];
    std::fill(totals, totals + n, r.functions.initial);
    if (step == 1) {
      FoldRows(r, args.inputs[0], at[1], n, totals);
    } else {
      for (int64_t i = 0; i < n; ++i) {
        FoldElement(r, args.inputs[0], at[1] + i * step, &totals[i]);
      }
    }
    for (int64_t i = 0; i < n; ++i) totals[i] = totals[i] / r.divisor;
    r.rows.store(totals, n, args.outputs[0], at[0], r.kept.strides[0].back());
  });
}

template <typename Number>
KernelList ReduceKernel(ReduceMode mode, const KernelRequest& request, std::string name) {
  const TensorType& input = request.inputs[0];
  const Isa isa = request.processor.isa;
  Reduction<Number> r = {{}, {}, FunctionsOf<Number>(mode, isa), {input.dtype, isa}};
  const Strides in = ContiguousStrides(input.shape);
  const Strides out = BroadcastStrides(request.outputs[0].shape, input.shape);
  for (int axis = 0; axis < input.shape.rank(); ++axis) {
    if (out[axis] != 0 || input.shape[axis] == 1) {
      r.kept.shape.push_back(input.shape[axis]);
      r.kept.strides[0].push_back(out[axis]);
      r.kept.strides[1].push_back(in[axis]);
    } else {
      r.folded.shape.push_back(input.shape[axis]);
      r.folded.strides[0].push_back(in[axis]);
    }
  }
  if (mode == ReduceMode::kMean) {
    r.divisor = ParameterAs<Number>(static_cast<double>(r.folded.shape.num_elements()));
  }
  const int threads = request.threads;
  PrepareRowLoop(r.kept, threads);
  PrepareRowLoop(r.folded, 1);
  return OnlyKernel(std::move(name), [=](const KernelArgs& args) { Run(r, threads, args); });
}

absl::StatusOr<KernelList> MakeReduce(const Reduce& op, const KernelRequest& request) {
  return WithNumber(request.inputs[0].dtype, [&]<typename Number>(Number) {
    return ReduceKernel<Number>(
        op.param().mode, request,
        absl::StrCat("reduce:", kWraps<Number> ? "integers" : Name(request.processor.isa)));
  });
}

}  // namespace

void RegisterReduceKernels(KernelRegistry& registry) { registry.Register<Reduce>(MakeReduce); }

}  // namespace ashlar::cpu
