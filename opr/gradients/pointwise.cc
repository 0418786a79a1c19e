// Gradients of functions of single elements, and of their sums.
#include <algorithm>
#include <optional>
#include <utility>

#include "opr/base/scalar_functions.h"
#include "opr/cum_sum.h"
#include "opr/dropout.h"
#include "opr/elemwise.h"
#include "opr/gradients/gradients.h"
#include "opr/gradients/scalar_gradient.h"
#include "opr/pooling.h"
#include "opr/reduce.h"
#include "opr/rewrites/composition.h"
#include "opr/type_cvt.h"

namespace ashlar {

absl::Status Elemwise::Gradient(GradientContext& context) const {
  Gradients g(context);
  const auto var = [&](char name) {
    return name == 'g' ? g.of() : name == 'y' ? g.output() : g.input(name - 'a');
  };
  std::array<std::optional<int>, 3> gradients;
  for (int i = 0; i < g.num_inputs(); ++i) {
    if (!g.wants(i)) continue;
    const char* const* const rows = RowOf(param().mode).gradients;
    if (i > 0 && gradients[0] && absl::string_view(rows[i]) == rows[0]) {
      gradients[i] = gradients[0];
    } else {
      ASHLAR_ASSIGN_OR_RETURN(gradients[i], ScalarGradient(g, param(), i, var));
    }
  }
  for (int i = 0; i < g.num_inputs(); ++i) {
    if (gradients[i]) g.Set(i, *gradients[i]);
  }
  return std::move(g).Finish();
}

absl::Status TypeCvt::Gradient(GradientContext& context) const {
  Gradients g(context);
  return g.SetOnly(0, g.Converted(g.of(), g.input_type(0).dtype));
}

// Applies the same mask to the gradient.
absl::Status Dropout::Gradient(GradientContext& context) const {
  Gradients g(context);
  return g.SetOnly(kX, g.Add<Dropout>(param(), {g.of(), g.input(kStep)}));
}

absl::Status CumSum::Gradient(GradientContext& context) const {
  Gradients g(context);
  return g.SetOnly(0, g.Add<CumSum>({param().axis, param().exclusive, !param().reverse}, {g.of()}));
}

// If a smallest or largest element occurs several times, each occurrence gets the gradient.
absl::Status Reduce::Gradient(GradientContext& context) const {
  using F = ScalarFunction;
  Gradients g(context);
  const TensorType x = g.input_type(0);
  const Shape reduced = g.type(g.output()).shape;
  const auto number = [&](double value) { return g.Constant(x.dtype, value); };
  switch (param().mode) {
    case ReduceMode::kSum:
      g.Set(0, g.Repeated(g.of(), x.shape));
      break;
    case ReduceMode::kMean: {
      const double count = static_cast<double>(x.shape.num_elements()) /
                           static_cast<double>(std::max<int64_t>(1, reduced.num_elements()));
      g.Set(0, g.Repeated(g.Apply(F::kMul, {g.of(), number(1 / count)}), x.shape));
      break;
    }
    case ReduceMode::kSumSqr:
      g.Set(0, g.Apply(F::kMul, {g.input(0), g.Apply(F::kAdd, {g.of(), g.of()})}));
      break;
    case ReduceMode::kMin:
    case ReduceMode::kMax:
      g.Set(0, g.Apply(F::kMul, {g.Apply(F::kEqual, {g.input(0), g.output()}), g.of()}));
      break;
    case ReduceMode::kProduct:
      g.Set(0, g.Apply(F::kTrueDiv, {g.Apply(F::kMul, {g.of(), g.output()}), g.input(0)}));
      break;
  }
  return std::move(g).Finish();
}

}  // namespace ashlar
