// Kernels in which many elements give one: reductions, softmax, products of matrices without a
// library. Compiles for the host and for devices. A Team is the threads that work on one result: a
// block, or one thread.
#ifndef ASHLAR_RUNTIME_CUDA_FOLD_H_
#define ASHLAR_RUNTIME_CUDA_FOLD_H_

#include "runtime/cuda/index.h"
#include "runtime/cuda/scalar.h"

namespace ashlar::cuda {

// The team of one.
struct Alone {
  ASHLAR_HD int rank() const { return 0; }
  ASHLAR_HD int size() const { return 1; }
  // The combination of every member's value, to all of them.
  template <typename Value, typename Combine>
  ASHLAR_HD Value All(Value value, Combine) const {
    return value;
  }
};

// The modes of opr/reduce.h, in their order.
enum class FoldKind : uint8_t { kSum, kSumSqr, kProduct, kMin, kMax, kMean };

template <typename Real>
ASHLAR_HD Real FoldIdentity(FoldKind kind) {
  switch (kind) {
    case FoldKind::kProduct:
      return 1;
    case FoldKind::kMin:
      return INFINITY;
    case FoldKind::kMax:
      return -INFINITY;
    default:
      return 0;
  }
}

template <typename Real>
struct FoldTwo {
  FoldKind kind;
  ASHLAR_HD Real operator()(Real a, Real b) const {
    switch (kind) {
      case FoldKind::kProduct:
        return a * b;
      case FoldKind::kMin:  // these hand a NaN on
        return b < a || b != b ? b : a;
      case FoldKind::kMax:
        return a < b || b != b ? b : a;
      default:
        return a + b;
    }
  }
};

// Output element i is the fold of the elements that `folded` walks, from where `kept` says.
struct ReduceParams {
  Walk<2> kept;    // operand 0: the output, operand 1: the input
  Walk<1> folded;  // the input
  Scalar from = Scalar::kFloat32, to = Scalar::kFloat32;
  FoldKind kind = FoldKind::kSum;
  double divisor = 1;
  bool by_team = false;  // a team for an output element, instead of a thread
  const void* in = nullptr;
  void* out = nullptr;
};

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
    StoreAs<Real>(p.to, p.out, at[0], total / static_cast<Real>(p.divisor));
  }
}

// Rows of `length` elements, `step` apart; row r begins at r / step * step * length + r % step.
// Float32 from floats, which it may overwrite if they are Float32, too.
struct SoftmaxParams {
  int64_t rows = 0, length = 0, step = 1;
  Scalar from = Scalar::kFloat32;
  const void* in = nullptr;
  float* out = nullptr;
};

template <typename From, typename Team>
ASHLAR_HD void SoftmaxAt(const SoftmaxParams& p, int64_t row, const Team& team) {
  const int64_t begin = row / p.step * p.step * p.length + row % p.step;
  const From* const in = static_cast<const From*>(p.in) + begin;
  float* const out = p.out + begin;
  const FoldTwo<float> most = {FoldKind::kMax}, sum = {FoldKind::kSum};
  float largest = -INFINITY;
  for (int64_t i = team.rank(); i < p.length; i += team.size()) {
    largest = most(largest, ToFloat(in[i * p.step]));
  }
  largest = team.All(largest, most);
  float total = 0;
  for (int64_t i = team.rank(); i < p.length; i += team.size()) {
    total += expf(ToFloat(in[i * p.step]) - largest);
  }
  total = team.All(total, sum);
  for (int64_t i = team.rank(); i < p.length; i += team.size()) {
    out[i * p.step] = expf(ToFloat(in[i * p.step]) - largest) / total;
  }
}

// Element `number` of a batch of products, plus a bias for each column: for what the library
// refuses. The batch is walked with operand 0: A, operand 1: B, in elements from matrix to matrix.
struct MatrixParams {
  Walk<2> batch;
  int64_t m = 0, k = 0, n = 0;
  int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0;  // element strides
  Scalar dtype = Scalar::kFloat32;
  bool relu = false;
  const void *a = nullptr, *b = nullptr, *bias = nullptr;  // bias: or null
  void* out = nullptr;
};

ASHLAR_HD void MatrixAt(const MatrixParams& p, int64_t number) {
  const int64_t column = number % p.n, row = number / p.n % p.m;
  int64_t at[2];
  Locate(p.batch, number / (p.m * p.n), at);
  float sum = 0;
  for (int64_t l = 0; l < p.k; ++l) {
    sum += LoadAs<float>(p.dtype, p.a, at[0] + row * p.a_row + l * p.a_column) *
           LoadAs<float>(p.dtype, p.b, at[1] + l * p.b_row + column * p.b_column);
  }
  if (p.bias != nullptr) sum += LoadAs<float>(p.dtype, p.bias, column);
  StoreAs<float>(p.dtype, p.out, number, p.relu && sum < 0 ? 0.0f : sum);
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_FOLD_H_
