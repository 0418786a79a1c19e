// Runs operators and graphs by their host evaluation.
#ifndef ASHLAR_TESTS_SUPPORT_OPERATORS_H_
#define ASHLAR_TESTS_SUPPORT_OPERATORS_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"

namespace ashlar::testing {

// Returns output 0 of an operator on constant inputs. Expects inference to accept them and to give
// the dtype and shape of the evaluation; returns an empty tensor on failure.
HostTensor Evaluate(const Operator& op, const std::vector<HostTensor>& inputs);

// Returns the types that inference finds for Float32 inputs of these shapes.
absl::StatusOr<std::vector<TensorType>> InferShapes(const Operator& op,
                                                    const std::vector<Shape>& inputs);

// Inputs that inference must refuse, with an error that contains `message`.
struct Rejection {
  OperatorPtr op;
  std::vector<Shape> inputs;  // Float32
  std::string message;
};
void ExpectRejected(const std::vector<Rejection>& rejections);

// The aliasing of an operator: the view that output 0 is, the inputs that output 0 may overwrite
// (best first), and the offset at which an input may lie in output 0.
std::optional<Aliasing::View> ViewOf(const Operator& op, const OwnedSite& site);
std::vector<int> OverwrittenBy(const Operator& op, const OwnedSite& site);
std::optional<int64_t> PlaceOf(const Operator& op, int input, const OwnedSite& site);

// Returns the outputs of a graph in their order, with every node evaluated on the host.
absl::StatusOr<std::vector<HostTensor>> EvaluateGraph(
    const Graph& graph, const absl::flat_hash_map<std::string, HostTensor>& inputs);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_OPERATORS_H_
