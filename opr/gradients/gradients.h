// Helpers for gradient rules (graph/gradient_rules.h).
#ifndef ASHLAR_OPR_GRADIENTS_GRADIENTS_H_
#define ASHLAR_OPR_GRADIENTS_GRADIENTS_H_

#include <optional>

#include "opr/rewrites/composition.h"

namespace ashlar {

// A composition in which a rule computes the gradients of its context.
class Gradients : public Composition {
 public:
  explicit Gradients(GradientContext& context) : Composition(context), context_(context) {}

  bool wants(int input) const { return context_.wants(input); }
  bool has(int output) const { return context_.gradient(output).has_value(); }
  int input(int i) const { return context_.inputs()[static_cast<size_t>(i)]; }
  int num_inputs() const { return static_cast<int>(context_.inputs().size()); }
  int output(int i = 0) const { return context_.outputs()[static_cast<size_t>(i)]; }
  TensorType input_type(int i) const { return type(input(i)); }
  // Returns the gradient with respect to an output, which must have one. If an operator has one
  // output, that output has a gradient whenever its rule is called.
  int of(int output = 0) const { return *context_.gradient(output); }

  // Sets the gradient with respect to input `i`. `var` has the input's dtype and a shape that the
  // input broadcasts to; it is summed to the input's shape. Does nothing if the gradient is not
  // needed.
  void Set(int i, int var) {
    if (!status().ok() || !wants(i)) return;
    var = SummedTo(var, input_type(i).shape);
    if (status().ok()) Check(context_.SetGradient(i, var));
  }
  absl::Status Finish() && { return status(); }
  // Sets the only gradient, with respect to input `i`, and finishes.
  absl::Status SetOnly(int i, int var) {
    Set(i, var);
    return status();
  }

 private:
  GradientContext& context_;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_GRADIENTS_GRADIENTS_H_
