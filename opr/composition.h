// Operators made of others: what Operator::Compose is written with.
#ifndef ASHLAR_OPR_COMPOSITION_H_
#define ASHLAR_OPR_COMPOSITION_H_

#include <memory>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "opr/elemwise.h"

namespace ashlar {

// Adds operators to a graph one behind the other. The first error stays, and what is added behind
// it is nothing.
class Composition {
 public:
  explicit Composition(GraphBuilder& builder) : builder_(builder) {}

  // Its first output.
  template <typename Op>
  int Add(typename Op::Param param, std::vector<int> inputs) {
    return Add(std::make_shared<const Op>(std::move(param)), std::move(inputs));
  }
  int Apply(ScalarFunction function, std::vector<int> inputs) {
    return Add<Elemwise>({function}, std::move(inputs));
  }
  int Constant(HostTensor value);
  // One element, which broadcasts.
  int Constant(DType dtype, double value);

  // The same elements under another shape.
  int Reshaped(int var, const Shape& shape);
  // Elements begin, begin + step, ... along an axis, as far as `end`, which may lie just outside.
  int Slice(int var, int axis, int64_t begin, int64_t end, int64_t step = 1);
  // A constant of that shape, every element the same.
  int Filled(DType dtype, const Shape& shape, double value);

  const TensorType& type(int var) const { return builder_.graph().var(var).type; }

  absl::StatusOr<std::vector<int>> Finish(std::vector<int> outputs) &&;

 private:
  int Add(OperatorPtr op, std::vector<int> inputs);

  GraphBuilder& builder_;
  absl::Status status_;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_COMPOSITION_H_
