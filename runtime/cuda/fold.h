// Folds many values into one. Compiles for the host and for devices. A Team is the group of threads
// that computes one result: a block, or one thread.
#ifndef ASHLAR_RUNTIME_CUDA_FOLD_H_
#define ASHLAR_RUNTIME_CUDA_FOLD_H_

#include <cmath>
#include <cstdint>

#include "opr/base/scalar_functions.h"
#include "runtime/cuda/scalar.h"

namespace ashlar::cuda {

// A team of one thread.
struct Alone {
  ASHLAR_HD int rank() const { return 0; }
  ASHLAR_HD int size() const { return 1; }
  // Combines the values of all members; every member gets the result.
  template <typename Value, typename Combine>
  ASHLAR_HD Value All(Value value, Combine) const {
    return value;
  }
};

// The modes of opr/reduce.h, in the same order.
enum class FoldKind : uint8_t { kSum, kSumSqr, kProduct, kMin, kMax, kMean };

template <typename Real>
ASHLAR_HD Real FoldIdentity(FoldKind kind) {
  switch (kind) {
    case FoldKind::kProduct:
      return 1;
    case FoldKind::kMin:
      return ParameterAs<Real>(INFINITY);
    case FoldKind::kMax:
      return ParameterAs<Real>(-INFINITY);
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
      case FoldKind::kMin:  // these propagate NaN
        return b < a || b != b ? b : a;
      case FoldKind::kMax:
        return a < b || b != b ? b : a;
      default:
        return a + b;
    }
  }
};

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_FOLD_H_
