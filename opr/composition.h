// Operators made of others; Operator::Compose and Operator::Gradient are written with it.
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
  explicit Composition(GraphBuilder& builder) : builder_(&builder) {}
  explicit Composition(GradientContext& context) : context_(&context) {}

  // Its first output.
  template <typename Op>
  int Add(typename Op::Param param, std::vector<int> inputs) {
    return AddAll<Op>(std::move(param), std::move(inputs))[0];
  }
  // All outputs.
  template <typename Op>
  std::vector<int> AddAll(typename Op::Param param, std::vector<int> inputs) {
    return AddAll(std::make_shared<const Op>(std::move(param)), std::move(inputs));
  }
  int Add(OperatorPtr op, std::vector<int> inputs);
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

  // The same elements in another dtype, or the var itself.
  int Converted(int var, DType dtype);
  // The var's elements summed to a shape that broadcasts to its own; the var itself where it has
  // that shape.
  int SummedTo(int var, const Shape& shape);
  // The var's elements repeated to a shape that it broadcasts to; the var itself where it has it.
  int Repeated(int var, const Shape& shape);

  // Until the next operator is added.
  const TensorType& type(int var) const {
    return builder_ != nullptr ? builder_->graph().var(var).type : context_->type(var);
  }

  absl::StatusOr<std::vector<int>> Finish(std::vector<int> outputs) &&;
  const absl::Status& status() const { return status_; }

 protected:
  // Keeps an error, if it is the first.
  void Check(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

 private:
  // Never empty.
  std::vector<int> AddAll(OperatorPtr op, std::vector<int> inputs);

  GraphBuilder* builder_ = nullptr;  // or else
  GradientContext* context_ = nullptr;
  absl::Status status_;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_COMPOSITION_H_
