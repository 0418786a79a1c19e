// Helpers for Operator::Compose and Operator::Gradient: build an operator from others.
#ifndef ASHLAR_OPR_REWRITES_COMPOSITION_H_
#define ASHLAR_OPR_REWRITES_COMPOSITION_H_

#include <memory>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "opr/elemwise.h"

namespace ashlar {

// Adds operators to a graph one after the other. Stores the first error; after it, nothing is
// added.
class Composition {
 public:
  explicit Composition(GraphBuilder& builder) : builder_(&builder) {}
  explicit Composition(GradientContext& context) : context_(&context) {}

  // Adds an operator; returns its first output.
  template <typename Op>
  int Add(typename Op::Param param, std::vector<int> inputs) {
    return AddAll<Op>(std::move(param), std::move(inputs))[0];
  }
  // Adds an operator; returns all outputs.
  template <typename Op>
  std::vector<int> AddAll(typename Op::Param param, std::vector<int> inputs) {
    return AddAll(std::make_shared<const Op>(std::move(param)), std::move(inputs));
  }
  int Add(OperatorPtr op, std::vector<int> inputs);
  int Apply(ScalarFunction function, std::vector<int> inputs) {
    return Add<Elemwise>({function}, std::move(inputs));
  }
  int Constant(HostTensor value);
  // Adds a constant of one element, which broadcasts.
  int Constant(DType dtype, double value);

  // Gives the same elements another shape.
  int Reshaped(int var, const Shape& shape);
  // The same; the first dimension stays open, and equals a matrix's if it does now.
  int ReshapedImages(int var, const Shape& shape);
  // Gives the elements all dimensions of `other` but the last, which becomes `last`.
  int ReshapedAs(int var, int other, int64_t last);
  // Takes the elements begin, begin + step, ... along an axis up to `end`, exclusive, which may be
  // just out of range.
  int Slice(int var, int axis, int64_t begin, int64_t end, int64_t step = 1);
  // Adds a constant of this shape with equal elements.
  int Filled(DType dtype, const Shape& shape, double value);

  // Converts the elements to another dtype; returns the var itself if it has the dtype.
  int Converted(int var, DType dtype);
  // Sums the var's elements to a shape that broadcasts to its own; returns the var itself if it has
  // that shape.
  int SummedTo(int var, const Shape& shape);
  // Repeats the var's elements to a shape that it broadcasts to; returns the var itself if it has
  // that shape.
  int Repeated(int var, const Shape& shape);

  // Valid until the next operator is added.
  const TensorType& type(int var) const {
    return builder_ != nullptr ? builder_->graph().var(var).type : context_->type(var);
  }

  absl::StatusOr<std::vector<int>> Finish(std::vector<int> outputs) &&;
  const absl::Status& status() const { return status_; }

 protected:
  // Stores an error if it is the first.
  void Check(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

 private:
  // The result is never empty.
  std::vector<int> AddAll(OperatorPtr op, std::vector<int> inputs);

  GraphBuilder* builder_ = nullptr;  // exactly one of these two is set
  GradientContext* context_ = nullptr;
  absl::Status status_;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_REWRITES_COMPOSITION_H_
