// Rules that compute the gradients of an operator's inputs from the gradients of its outputs
// (reverse mode). Part of the Operator interface. A rule adds operators to the graph under
// construction. It declares no saved tensors: the graph decides which tensors are saved.
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

// The context of a rule: its node, and the gradients it computes. All vars belong to the graph
// under construction.
class GradientContext {
 public:
  virtual ~GradientContext() = default;

  virtual absl::Span<const int> inputs() const = 0;
  virtual absl::Span<const int> outputs() const = 0;
  virtual const TensorType& type(int var) const = 0;
  // Returns the value if it is known before the run, otherwise null. The pointer is valid until the
  // next Add.
  virtual const HostTensor* value(int var) const = 0;

  // Returns the gradient of the loss with respect to an output, of that output's type. Empty if the
  // loss does not depend on the output.
  virtual std::optional<int> gradient(int output) const = 0;
  // Returns whether the gradient with respect to this input is needed.
  virtual bool wants(int input) const = 0;

  virtual absl::StatusOr<std::vector<int>> Add(std::shared_ptr<const Operator> op,
                                               std::vector<int> inputs) = 0;
  virtual absl::StatusOr<int> Constant(HostTensor value) = 0;
  // Sets the gradient of an input to `var`, which has the input's type. If a wanted input gets
  // none, its gradient is zero.
  virtual absl::Status SetGradient(int input, int var) = 0;
};

class GradientRules {
 public:
  // The default is no rule: Unimplemented.
  virtual absl::Status Gradient(GradientContext& /*context*/) const {
    return absl::UnimplementedError("it has no gradient");
  }

 protected:
  ~GradientRules() = default;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_GRADIENT_RULES_H_
