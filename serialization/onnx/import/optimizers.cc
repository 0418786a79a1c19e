// Imports one step of Adagrad, Adam and Momentum (ai.onnx.preview.training) as functions of
// elements. The rate of a step is one number, which is computed in doubles.
#include <utility>

#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;
constexpr char kDomain[] = "ai.onnx.preview.training";

// Returns input i, which has one element, as a double of rank 0.
OnnxVar NumberOf(OnnxNode& node, int i) {
  const OnnxVar x = node.input(i);
  if (node.ok() && node.shape(x).num_elements() != 1) {
    return node.Invalid(absl::StrCat("input ", i, " has not 1 element"));
  }
  return node.Converted(node.Reshaped(x, {}), DType::kFloat64);
}

// Returns `number` after step 0, and `first` in it.
OnnxVar AfterFirst(OnnxNode& node, OnnxVar step, OnnxVar number, OnnxVar first) {
  const OnnxVar later = node.Function(F::kLess, {node.Scalar(0, DType::kFloat64), step});
  return node.Function(F::kSelect, {later, number, first});
}

// Returns a * x + y.
OnnxVar Scaled(OnnxNode& node, double a, OnnxVar x, OnnxVar y) {
  return a == 0 ? y : node.Sum(node.Product(x, a), y);
}

OnnxVar Square(OnnxNode& node, OnnxVar x) { return node.Product(x, x); }

// Returns x - rate * direction; the rate is a double.
OnnxVar Moved(OnnxNode& node, OnnxVar x, OnnxVar rate, OnnxVar direction) {
  return node.Difference(x, node.Product(node.Converted(rate, node.dtype(x)), direction));
}

// Returns the new value and states of one tensor: `of` has its value, gradient and states.
using Update = OnnxVars (*)(OnnxNode& node, OnnxVar rate, OnnxVar step, const OnnxVars& of);

// Inputs are the rate, the number of steps before, then all values, all gradients, and all states
// of a kind; outputs the new values, and the new states.
OnnxVars Updated(OnnxNode& node, int states, Update update) {
  const OnnxVar rate = NumberOf(node, 0), step = NumberOf(node, 1);
  const int kinds = 2 + states, tensors = node.num_inputs() - 2;
  if (tensors < kinds || tensors % kinds != 0) {
    return node.Invalid(absl::StrCat(tensors, " tensors, expected a multiple of ", kinds));
  }
  if (!IsFloat(node.dtype(node.input(2)))) return node.Invalid("expected floats");
  const int count = tensors / kinds;
  OnnxVars updated(static_cast<size_t>(count * (1 + states)), kNoOnnxVar);
  for (int i = 0; i < count; ++i) {
    OnnxVars of;
    for (int kind = 0; kind < kinds; ++kind) {
      of.push_back(node.input(2 + kind * count + i));
      if (!node.ok()) return kNoOnnxVar;
      if (node.type_of(of.back()) != node.type_of(of[0])) {
        return node.Invalid(absl::StrCat("a tensor is ", node.type_of(of[0]).ToString(),
                                         ", its gradient or state ",
                                         node.type_of(of.back()).ToString()));
      }
    }
    const OnnxVars made = update(node, rate, step, of);
    for (size_t kind = 0; kind < made.size(); ++kind) {
      updated[kind * static_cast<size_t>(count) + static_cast<size_t>(i)] = made[kind];
    }
  }
  return updated;
}

OnnxVars Adagrad(OnnxNode& node) {
  return Updated(node, 1, [](OnnxNode& at, OnnxVar rate, OnnxVar step, const OnnxVars& of) {
    const double epsilon = at.Float("epsilon", 1e-6);
    const OnnxVar g = Scaled(at, at.Float("norm_coefficient", 0), of[0], of[1]);
    const OnnxVar sum = at.Sum(of[2], Square(at, g));
    const OnnxVar decay = at.Sum(at.Product(step, at.Float("decay_factor", 0)), 1);
    const OnnxVar root = at.Sum(at.Function(F::kSqrt, {sum}), epsilon);
    return OnnxVars{Moved(at, of[0], at.Quotient(rate, decay), at.Quotient(g, root)), sum};
  });
}

OnnxVars Adam(OnnxNode& node) {
  return Updated(node, 2, [](OnnxNode& at, OnnxVar rate, OnnxVar step, const OnnxVars& of) {
    const double alpha = at.Float("alpha", 0.9), beta = at.Float("beta", 0.999);
    const double epsilon = at.Float("epsilon", 1e-6);
    const double after = at.Float("norm_coefficient_post", 0);
    const OnnxVar g = Scaled(at, at.Float("norm_coefficient", 0), of[0], of[1]);
    const OnnxVar mean = Scaled(at, alpha, of[2], at.Product(g, 1 - alpha));
    const OnnxVar square = Scaled(at, beta, of[3], at.Product(Square(at, g), 1 - beta));
    const auto without_power = [&](double base) {  // 1 - base^step
      const OnnxVar power = at.Function(F::kPow, {at.Scalar(base, DType::kFloat64), step});
      return at.Difference(at.Scalar(1, DType::kFloat64), power);
    };
    const OnnxVar root = at.Function(F::kSqrt, {without_power(beta)});
    const OnnxVar unbiased = at.Quotient(at.Product(rate, root), without_power(alpha));
    const OnnxVar direction = at.Quotient(mean, at.Sum(at.Function(F::kSqrt, {square}), epsilon));
    const OnnxVar x = Moved(at, of[0], AfterFirst(at, step, unbiased, rate), direction);
    return OnnxVars{at.Product(x, 1 - after), mean, square};
  });
}

OnnxVars Momentum(OnnxNode& node) {
  return Updated(node, 1, [](OnnxNode& at, OnnxVar rate, OnnxVar step, const OnnxVars& of) {
    const double alpha = at.Float("alpha", 0), beta = at.Float("beta", 0);
    const std::string mode = at.Text("mode", "");
    if (mode != "standard" && mode != "nesterov") {
      return OnnxVars(at.Invalid(absl::StrCat("mode is '", mode.substr(0, 64), "'")));
    }
    const OnnxVar g = Scaled(at, at.Float("norm_coefficient", 0), of[0], of[1]);
    const OnnxVar factor =
        AfterFirst(at, step, at.Scalar(beta, DType::kFloat64), at.Scalar(1, DType::kFloat64));
    const OnnxVar momentum =
        Scaled(at, alpha, of[2], at.Product(at.Converted(factor, at.dtype(g)), g));
    const OnnxVar direction = mode == "standard" ? momentum : Scaled(at, alpha, momentum, g);
    return OnnxVars{Moved(at, of[0], rate, direction), momentum};
  });
}

constexpr OnnxRow kOptimizerRows[] = {
    OnnxRow("Adagrad", 5, OnnxRow::kAny, Adagrad).In(kDomain),
    OnnxRow("Adam", 6, OnnxRow::kAny, Adam).In(kDomain),
    OnnxRow("Momentum", 5, OnnxRow::kAny, Momentum).In(kDomain),
};

}  // namespace

absl::Span<const OnnxRow> OnnxOptimizerRows() { return kOptimizerRows; }

}  // namespace ashlar
