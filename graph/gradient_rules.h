// How the gradient of an operator's inputs follows from that of its outputs: one of the groups of
// questions that an Operator answers. Reverse mode: a rule adds operators to the graph that is
// being built, and the graph decides which tensors are kept: a rule declares none.
#ifndef ASHLAR_GRAPH_GRADIENT_RULES_H_
#define ASHLAR_GRAPH_GRADIENT_RULES_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/shape.h"
#include "graph/tensor.h"

namespace ashlar {

class Operator;

// The context of a rule: its node, and the gradients that it makes. All vars belong to the graph
// that is being built.
class GradientContext {
 public:
  virtual ~GradientContext() = default;

  virtual absl::Span<const int> inputs() const = 0;
  virtual absl::Span<const int> outputs() const = 0;
  virtual const TensorType& type(int var) const = 0;
  // A value that is known before anything runs, else null; until the next Add.
  virtual const HostTensor* value(int var) const = 0;

  // The gradient of the loss by an output, of that output's type; empty where the loss does not
  // depend on it.
  virtual std::optional<int> gradient(int output) const = 0;
  // Whether somebody needs the gradient by this input.
  virtual bool wants(int input) const = 0;

  virtual absl::StatusOr<std::vector<int>> Add(std::shared_ptr<const Operator> op,
                                               std::vector<int> inputs) = 0;
  virtual absl::StatusOr<int> Constant(HostTensor value) = 0;
  // A var of the type of the input. An input that is wanted and gets none has gradient zero.
  virtual absl::Status SetGradient(int input, int var) = 0;
};

class GradientRules {
 public:
  // Unless overridden, there is no rule: Unimplemented.
  virtual absl::Status Gradient(GradientContext& /*context*/) const {
    return absl::UnimplementedError("it has no gradient");
  }

 protected:
  ~GradientRules() = default;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_GRADIENT_RULES_H_
