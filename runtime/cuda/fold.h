// Many values folded into one. Compiles for the host and for devices. A Team is the threads that
// work on one result: a block, or one thread.
#ifndef ASHLAR_RUNTIME_CUDA_FOLD_H_
#define ASHLAR_RUNTIME_CUDA_FOLD_H_

#include <cmath>
#include <cstdint>

#include "opr/scalar_functions.h"
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
      case FoldKind::kMin:  // these hand a NaN on
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
