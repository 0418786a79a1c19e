// Computes gradients of a scalar with respect to vars of its graph, and appends them to the graph.
#ifndef ASHLAR_GRAPH_DIFFERENTIATE_H_
#define ASHLAR_GRAPH_DIFFERENTIATE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph_builder.h"

namespace ashlar {

// Adds the gradients of `loss` with respect to `wrt`, vars of the builder's graph, in reverse mode.
// Visits the nodes between `wrt` and `loss`, the last node first, and applies their rules
// (graph/gradient_rules.h). Sums the gradients of all readers of a var. An operator without a rule
// is differentiated through its composition if it has one. The composition is added too; nodes of
// it that nothing reads are pruned.
//
// Returns for each var of `wrt` its gradient, a var of the same type. It is empty if the gradient
// is zero because the loss does not depend on the var. Integers, flags and inputs read before the
// run have no gradient. `operators` makes constants and sums.
//
// Errors: InvalidArgument if `loss` is not one floating-point element, or if a var is not in the
// graph. Unimplemented, naming all nodes on the way whose operators have neither rule nor
// composition. After an error the builder must not be used.
absl::StatusOr<std::vector<std::optional<int>>> Differentiate(GraphBuilder& builder, int loss,
                                                              absl::Span<const int> wrt,
                                                              const OperatorTable& operators);

// Computes the vector-Jacobian product: as Differentiate, for the sum of the products of `output`,
// a floating-point var, with `gradient`, a var of the same type.
absl::StatusOr<std::vector<std::optional<int>>> BackPropagate(GraphBuilder& builder, int output,
                                                              int gradient,
                                                              absl::Span<const int> wrt,
                                                              const OperatorTable& operators);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_DIFFERENTIATE_H_
