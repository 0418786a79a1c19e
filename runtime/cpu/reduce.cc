// Reduce: for each element that is kept, the elements that are folded into it, in double. Where
// kept elements are neighbours in memory, whole rows are added up at a time; where the folded ones
// are, 16 partial results stand side by side.
#include "opr/reduce.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "runtime/cpu/element.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kRow = 256;  // elements

constexpr double Initial(ReduceMode mode) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (mode) {
    case ReduceMode::kProduct:
      return 1;
    case ReduceMode::kMin:
      return kInfinity;
    case ReduceMode::kMax:
      return -kInfinity;
    default:
      return 0;
  }
}

// Two partial results in one. A NaN is handed on.
template <ReduceMode kMode>
double Join(double a, double b) {
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

template <ReduceMode kMode>
double Term(double x) {
  return kMode == ReduceMode::kSumSqr ? x * x : x;
}

// totals[i] takes in row[i].
template <ReduceMode kMode>
void TakeEach(const double* row, int64_t n, double* totals) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) totals[i] = Join<kMode>(totals[i], Term<kMode>(row[i]));
}

// totals[0] takes in the whole row, by way of independent partial results.
template <ReduceMode kMode>
void TakeAll(const double* row, int64_t n, double* totals) {
  constexpr int kPartial = 16;
  double partial[kPartial];
  for (double& p : partial) p = Initial(kMode);
  int64_t i = 0;
  for (; i + kPartial <= n; i += kPartial) {
#pragma omp simd
    for (int j = 0; j < kPartial; ++j) {
      partial[j] = Join<kMode>(partial[j], Term<kMode>(row[i + j]));
    }
  }
  for (; i < n; ++i) partial[0] = Join<kMode>(partial[0], Term<kMode>(row[i]));
  for (double p : partial) totals[0] = Join<kMode>(totals[0], p);
}

using TakeFunction = void (*)(const double*, int64_t, double*);
struct ModeFunctions {
  double initial;
  TakeFunction each, all;
};

template <ReduceMode kMode>
ModeFunctions FunctionsOf(Isa isa) {
  return {Initial(kMode), Versions<TakeEach<kMode>>::For(isa), Versions<TakeAll<kMode>>::For(isa)};
}

ModeFunctions FunctionsOf(ReduceMode mode, Isa isa) {
  switch (mode) {
    case ReduceMode::kSum:
    case ReduceMode::kMean:
      return FunctionsOf<ReduceMode::kSum>(isa);
    case ReduceMode::kSumSqr:
      return FunctionsOf<ReduceMode::kSumSqr>(isa);
    case ReduceMode::kProduct:
      return FunctionsOf<ReduceMode::kProduct>(isa);
    case ReduceMode::kMin:
      return FunctionsOf<ReduceMode::kMin>(isa);
    case ReduceMode::kMax:
      break;
  }
  return FunctionsOf<ReduceMode::kMax>(isa);
}

// Row-major tensors: the kept elements, in the output and in the input, and how the input is walked
// from one of them over those that it takes in.
struct Reduction {
  RowLoop<2> kept;
  RowLoop<1> folded;
  ModeFunctions functions;
  LoadRowFunction load;
  StoreRowFunction store;
  double divisor = 1;
};

// Neighbouring kept elements are neighbours in the input: whole rows are taken in at a time.
void FoldRows(const Reduction& r, const void* input, int64_t offset, int64_t n, double* totals) {
  ForEachRow(r.folded.shape, r.folded.strides, 1, [&](const std::array<int64_t, 1>& at, int64_t) {
    double row[kRow];
    r.load(input, offset + at[0], 1, n, row);
    r.functions.each(row, n, totals);
  });
}

void FoldElement(const Reduction& r, const void* input, int64_t offset, double* total) {
  ForEachRow(r.folded.shape, r.folded.strides, kRow,
             [&](const std::array<int64_t, 1>& at, int64_t n) {
               double row[kRow];
               r.load(input, offset + at[0], r.folded.strides[0].back(), n, row);
               r.functions.all(row, n, total);
             });
}

void Run(const Reduction& r, int threads, const KernelArgs& args) {
  const int64_t step = r.kept.strides[1].back();
  ParallelRows(r.kept, threads, kRow, [&](const std::array<int64_t, 2>& at, int64_t n) {
    double totals[kRow];
    std::fill(totals, totals + n, r.functions.initial);
    if (step == 1) {
      FoldRows(r, args.inputs[0], at[1], n, totals);
    } else {
      for (int64_t i = 0; i < n; ++i) {
        FoldElement(r, args.inputs[0], at[1] + i * step, &totals[i]);
      }
    }
    for (int64_t i = 0; i < n; ++i) totals[i] /= r.divisor;
    r.store(totals, n, args.outputs[0], at[0], r.kept.strides[0].back());
  });
}

absl::StatusOr<KernelList> MakeReduce(const Reduce& op, const KernelRequest& request) {
  const ReduceMode mode = op.param().mode;
  const TensorType& input = request.inputs[0];
  const TensorType& output = request.outputs[0];
  Reduction r;
  r.functions = FunctionsOf(mode, request.processor.isa);
  r.load = RowLoader(input.dtype, request.processor.isa);
  r.store = RowStorer(output.dtype, request.processor.isa);
  const Strides in = ContiguousStrides(input.shape);
  const Strides out = BroadcastStrides(output.shape, input.shape);
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
  if (mode == ReduceMode::kMean) r.divisor = static_cast<double>(r.folded.shape.num_elements());
  const int threads = request.threads;
  PrepareRowLoop(r.kept, threads);
  PrepareRowLoop(r.folded, 1);
  return OnlyKernel(absl::StrCat("reduce:", Name(request.processor.isa)),
                    [=](const KernelArgs& args) { Run(r, threads, args); });
}

}  // namespace

void RegisterReduceKernels(KernelRegistry& registry) { registry.Register<Reduce>(MakeReduce); }

}  // namespace ashlar::cpu
