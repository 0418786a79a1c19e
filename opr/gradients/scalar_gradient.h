// Computes gradients of scalar functions from the expressions in their table.
#ifndef ASHLAR_OPR_GRADIENTS_SCALAR_GRADIENT_H_
#define ASHLAR_OPR_GRADIENTS_SCALAR_GRADIENT_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "opr/elemwise.h"
#include "opr/rewrites/composition.h"

namespace ashlar {

// Adds the gradient with respect to tensor `operand` of the function, with the shape that its
// operands broadcast to. In the table's expressions, a, b and c are the tensors, y is the
// function's result, and g the gradient with respect to y. `var` returns the var of each, and is
// called only for those in use. p and q are the function's parameters; functions with parameters in
// the expression get them, too.
//
// nullopt if the gradient is zero. Unimplemented if the table has no gradient; nothing is added
// then.
absl::StatusOr<std::optional<int>> ScalarGradient(Composition& composition,
                                                  const ElemwiseParam& param, int operand,
                                                  absl::FunctionRef<int(char)> var);

}  // namespace ashlar

#endif  // ASHLAR_OPR_GRADIENTS_SCALAR_GRADIENT_H_
