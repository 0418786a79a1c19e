// Gradients of scalar functions, from the expressions in their table.
#ifndef ASHLAR_OPR_SCALAR_GRADIENT_H_
#define ASHLAR_OPR_SCALAR_GRADIENT_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "opr/composition.h"
#include "opr/elemwise.h"

namespace ashlar {

// Adds the gradient by tensor `operand` of the function, of the shape that its operands broadcast
// to. In the table's expressions a, b and c are the tensors, y what the function made of them, and
// g the gradient by y: `var` says which var each is, and is asked for those that are read. p and q
// are the function's parameters, which functions with parameters in the expression have, too.
// nullopt where the gradient is zero. Unimplemented where the table has none: nothing is added.
absl::StatusOr<std::optional<int>> ScalarGradient(Composition& composition,
                                                  const ElemwiseParam& param, int operand,
                                                  absl::FunctionRef<int(char)> var);

}  // namespace ashlar

#endif  // ASHLAR_OPR_SCALAR_GRADIENT_H_
