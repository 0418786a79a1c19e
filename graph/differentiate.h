// Gradients of one number by vars of its graph, as nodes behind the graph's own.
#ifndef ASHLAR_GRAPH_DIFFERENTIATE_H_
#define ASHLAR_GRAPH_DIFFERENTIATE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace ashlar {

// Adds the gradients of `loss` by `wrt`, vars of the graph that the builder holds, in reverse mode:
// the rules (graph/gradient_rules.h) of the nodes between `wrt` and `loss`, the last node first,
// and sums where a var has several readers. An operator that has no rule but is composed of others
// is differentiated through its composition, which is added too, and pruned where nothing reads it.
// By place in `wrt` the gradient, a var of the type of the one that it is by; empty where it is
// zero, as the loss does not depend on that var. Whole numbers, flags and inputs read before the
// run have no gradient. `operators` makes constants and sums.
// Errors: InvalidArgument where `loss` is not one element of floats, or a var is none of the graph;
// Unimplemented naming all nodes between whose operator has neither rule nor composition. The
// builder is of no more use then.
absl::StatusOr<std::vector<std::optional<int>>> Differentiate(GraphBuilder& builder, int loss,
                                                              absl::Span<const int> wrt,
                                                              const OperatorTable& operators);

// The same of the sum of the products of `output`, a var of floats, with `gradient`, one of its
// type: the vector-Jacobian product.
absl::StatusOr<std::vector<std::optional<int>>> BackPropagate(GraphBuilder& builder, int output,
                                                              int gradient,
                                                              absl::Span<const int> wrt,
                                                              const OperatorTable& operators);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_DIFFERENTIATE_H_
