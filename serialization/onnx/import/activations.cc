// Imports activations and trigonometric functions as compositions of scalar functions.

#include "serialization/onnx/import/table.h"
#include "serialization/onnx/import/values.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

OnnxVar Sigmoid(OnnxNode& node, OnnxVar x) { return node.Function(F::kSigmoid, {x}); }

OnnxVars HardSwish(OnnxNode& node) { return node.Function(F::kHSwish, {node.input(0)}); }

OnnxVars Celu(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const double alpha = node.Float("alpha", 1);
  if (!(alpha > 0)) return node.Invalid(absl::StrCat("alpha is ", alpha, ", expected more than 0"));
  return node.Product(node.Function(F::kElu, {node.Product(x, 1 / alpha)}, {1}), alpha);
}

OnnxVars Selu(OnnxNode& node) {
  node.Ignore({"consumed_inputs"});
  const OnnxVar x = node.input(0);
  // The defaults of operator set 1 have fewer digits.
  const bool old = node.version() < 6;
  const double alpha = node.Float("alpha", old ? 1.6732 : 1.67326319217681884765625);
  const double gamma = node.Float("gamma", old ? 1.0507 : 1.05070102214813232421875);
  return node.Product(node.Function(F::kElu, {x}, {alpha}), gamma);
}

OnnxVars Softsign(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  return node.Quotient(x, node.Sum(node.Function(F::kAbs, {x}), 1));
}

OnnxVars Mish(OnnxNode& node) { return node.Function(F::kMish, {node.input(0)}); }

OnnxVars Gelu(OnnxNode& node) {
  const std::string approximate = node.Text("approximate", "none");
  if (approximate == "none") return node.Function(F::kGelu, {node.input(0)});
  if (approximate == "tanh") return node.Function(F::kGeluTanh, {node.input(0)});
  return node.Invalid(absl::StrCat("approximate is '", approximate.substr(0, 64), "'"));
}

// Returns x, moved towards zero by the bias, if its magnitude exceeds lambd; otherwise 0.
OnnxVars Shrink(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const double lambd = node.Float("lambd", 0.5), bias = node.Float("bias", 0);
  const DType dtype = node.dtype(x);
  if (!IsFloat(dtype)) return node.Unsupported(absl::StrCat("of ", Name(dtype)));
  const OnnxVar above = node.Function(F::kLess, {node.Scalar(lambd, dtype), x});
  const OnnxVar below = node.Function(F::kLess, {x, node.Scalar(-lambd, dtype)});
  const OnnxVar zero = node.Scalar(0, dtype);
  const OnnxVar low = node.Function(F::kSelect, {below, node.Sum(x, bias), zero});
  return node.Function(F::kSelect, {above, node.Sum(x, -bias), low});
}

OnnxVars Swish(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const double alpha = node.Float("alpha", 1);
  if (alpha == 1) return node.Function(F::kSilu, {x});
  return node.Product(x, Sigmoid(node, node.Product(x, alpha)));
}

// Returns the second input times Swish of the first.
OnnxVars SwiGlu(OnnxNode& node) { return node.Product(Swish(node)[0], node.input(1)); }

// Trigonometric functions that have no scalar function of their own.
OnnxVars Tan(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  return node.Quotient(node.Function(F::kSin, {x}), node.Function(F::kCos, {x}));
}

OnnxVar AsinOf(OnnxNode& node, OnnxVar x) {
  const OnnxVar rest = node.Sum(node.Product(node.Product(x, x), -1), 1);
  return node.Function(F::kAtan, {node.Quotient(x, node.Function(F::kSqrt, {rest}))});
}
OnnxVars Asin(OnnxNode& node) { return AsinOf(node, node.input(0)); }
OnnxVars Acos(OnnxNode& node) {
  constexpr double kQuarter = 1.5707963267948966;
  return node.Sum(node.Product(AsinOf(node, node.input(0)), -1), kQuarter);
}

OnnxVars Acosh(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const OnnxVar root = node.Function(F::kSqrt, {node.Sum(node.Product(x, x), -1)});
  return node.Function(F::kLog, {node.Sum(x, root)});
}

OnnxVars Atanh(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const OnnxVar ratio = node.Quotient(node.Sum(x, 1), node.Sum(node.Product(x, -1), 1));
  return node.Product(node.Function(F::kLog, {ratio}), 0.5);
}

// The slope broadcasts to x. Below operator set 7 it is [C] along axis 1, or one value.
OnnxVars PRelu(OnnxNode& node) {
  node.Ignore({"consumed_inputs"});
  const OnnxVar x = node.input(0);
  OnnxVar slope = node.input(1);
  const int rank = node.rank(x);
  if (node.version() < 7 && node.rank(slope) == 1 && rank > 2) {
    Shape along;
    for (int axis = 1; axis < rank; ++axis) {
      along.push_back(axis == 1 ? node.shape(slope)[0] : 1);
    }
    slope = node.Reshaped(slope, along);
  }
  const absl::StatusOr<Shape> both = Broadcast(node.shape(x), node.shape(slope));
  if (!both.ok() || *both != node.shape(x)) {
    return node.Invalid(absl::StrCat("slope is ", node.shape(slope).ToString(),
                                     ", which does not broadcast to ", node.shape(x).ToString()));
  }
  return node.Function(F::kPRelu, {x, slope});
}

// Clamps x. If low > high, all elements become `high`.
OnnxVar Clipped(OnnxNode& node, OnnxVar x, double low, double high) {
  if (low <= high && low > -kInfinity && high < kInfinity) {
    return node.Function(F::kClamp, {x}, {low, high});
  }
  if (low > -kInfinity) x = node.Greatest(x, low);
  if (high < kInfinity) x = node.Least(x, high);
  return x;
}

OnnxVars ClipByAttributes(OnnxNode& node) {
  node.Ignore({"consumed_inputs"});
  return Clipped(node, node.input(0), node.Float("min", -kInfinity), node.Float("max", kInfinity));
}

OnnxVars Clip(OnnxNode& node) {
  OnnxVar x = node.input(0);
  const auto known = [&](int i) {
    if (!node.has(i)) return true;
    const HostTensor* const bound = node.constant(node.input(i));
    return bound != nullptr && (bound->num_elements() != 1 || IsExactAsDouble(*bound));
  };
  if (known(1) && known(2)) {
    const double low = node.has(1) ? node.KnownNumber(1, "min") : -kInfinity;
    const double high = node.has(2) ? node.KnownNumber(2, "max") : kInfinity;
    // A bound may be the lowest value of a dtype, which means none. NaN is no bound either.
    return Clipped(node, x, low, high);
  }
  if (node.has(1)) x = node.Function(F::kMax, {x, node.Reshaped(node.input(1), {})});
  if (node.has(2)) x = node.Function(F::kMin, {x, node.Reshaped(node.input(2), {})});
  return x;
}

constexpr OnnxRow kActivationRows[] = {
    OnnxRow("Acos", 1, 1, Acos),
    OnnxRow("Acosh", 1, 1, Acosh),
    OnnxRow("Asin", 1, 1, Asin),
    OnnxRow("Atanh", 1, 1, Atanh),
    OnnxRow("Tan", 1, 1, Tan),
    OnnxRow("Celu", 1, 1, Celu),
    OnnxRow("Clip", 1, 1, ClipByAttributes).Until(10),
    OnnxRow("Clip", 1, 3, Clip).Since(11),
    OnnxRow("Gelu", 1, 1, Gelu),
    OnnxRow("HardSwish", 1, 1, HardSwish),
    OnnxRow("Mish", 1, 1, Mish),
    OnnxRow("PRelu", 2, 2, PRelu),
    OnnxRow("Selu", 1, 1, Selu),
    OnnxRow("Shrink", 1, 1, Shrink),
    OnnxRow("Softsign", 1, 1, Softsign),
    OnnxRow("SwiGLU", 2, 2, SwiGlu),
    OnnxRow("Swish", 1, 1, Swish),
};

}  // namespace

absl::Span<const OnnxRow> OnnxActivationRows() { return kActivationRows; }

}  // namespace ashlar
