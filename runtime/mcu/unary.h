// Calls of functions of one tensor of floats.
#ifndef ASHLAR_RUNTIME_MCU_UNARY_H_
#define ASHLAR_RUNTIME_MCU_UNARY_H_

#include <limits>
#include <optional>

#include "opr/elemwise.h"
#include "runtime/mcu/code_kernel.h"

namespace ashlar::mcu {

struct Bounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// Returns the bounds of a function that clamps its argument; nullopt for other functions.
std::optional<Bounds> BoundsOf(const ElemwiseParam& param);

// Returns the call that computes output 0 from `source`, which may be the output itself.
// Unimplemented for functions that no C function has.
absl::StatusOr<CodeCall> UnaryCall(const ElemwiseParam& param, const TensorType& input,
                                   const TensorType& output, const CodeOperand& source);

}  // namespace ashlar::mcu

#endif  // ASHLAR_RUNTIME_MCU_UNARY_H_
