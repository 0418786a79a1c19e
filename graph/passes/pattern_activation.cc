// Recognises activations written as products: GELU by erf and by tanh, SiLU, hard swish and hard
// sigmoid.
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "graph/passes/pattern.h"

namespace ashlar {
namespace {

PatternMatch FunctionOf(const char* name, int x, ParamList params = {}) {
  params.emplace(params.begin(), "mode", std::string(name));
  return {"Elemwise", std::move(params), {PatternInput{x, {}, {}, {}}}};
}

// Returns whether `var` is 1 + erf(x / sqrt(2)).
bool IsErfOf(PatternMatcher& matcher, int var, int x) {
  const std::optional<int> erf = matcher.SumWith(var, 1);
  if (!erf) return false;
  const absl::Span<const int> argument = matcher.Function(*erf, "ERF");
  if (argument.empty()) return false;
  const PatternProduct product = matcher.Product(argument[0]);
  return product.factors == std::vector<int>{x} && IsNearly(product.coefficient, std::sqrt(0.5));
}

// Returns whether the product of `factors` is x^`power`, by products of x or by POW.
bool IsPowerOf(PatternMatcher& matcher, absl::Span<const int> factors, int power, int x) {
  for (const int factor : factors) {
    const absl::Span<const int> square = matcher.Function(factor, "MUL");
    const absl::Span<const int> raised = matcher.Function(factor, "POW");
    if (factor == x) {
      --power;
    } else if (!square.empty() && square[0] == x && square[1] == x) {
      power -= 2;
    } else if (!raised.empty() && raised[0] == x && matcher.Number(raised[1])) {
      const double exponent = *matcher.Number(raised[1]);
      if (exponent != 2 && exponent != 3) return false;
      power -= static_cast<int>(exponent);
    } else {
      return false;
    }
  }
  return power == 0;
}

// Returns whether `var` is 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)), possibly with x factored
// out of the sum.
bool IsTanhOf(PatternMatcher& matcher, int var, int x) {
  constexpr double kCubic = 0.044715;
  const std::optional<int> tanh = matcher.SumWith(var, 1);
  if (!tanh) return false;
  const absl::Span<const int> argument = matcher.Function(*tanh, "TANH");
  if (argument.empty()) return false;
  const PatternProduct product = matcher.Product(argument[0]);
  if (!IsNearly(product.coefficient, std::sqrt(2 / std::numbers::pi))) return false;
  const auto is_term = [&](int term, int power) {
    const PatternProduct powers = matcher.Product(term);
    return IsNearly(powers.coefficient, kCubic) && IsPowerOf(matcher, powers.factors, power, x);
  };
  if (product.factors.size() == 1) {
    const absl::Span<const int> sum = matcher.Function(product.factors[0], "ADD");
    if (sum.empty()) return false;
    return (sum[0] == x && is_term(sum[1], 3)) || (sum[1] == x && is_term(sum[0], 3));
  }
  if (product.factors.size() != 2) return false;
  for (int i = 0; i < 2; ++i) {
    if (product.factors[i] != x) continue;
    const std::optional<int> term = matcher.SumWith(product.factors[1 - i], 1);
    return term && is_term(*term, 2);
  }
  return false;
}

// Returns x if `var` is clip(x + 3, 0, 6).
std::optional<int> ClippedOf(PatternMatcher& matcher, int var) {
  const absl::Span<const int> clipped = matcher.Function(var, "CLAMP");
  if (clipped.empty()) return std::nullopt;
  const Operator& op = *matcher.Made(var, "Elemwise")->op;
  if (NumberParam(op, "lo", 0) != 0 || NumberParam(op, "hi", 6) != 6) return std::nullopt;
  return matcher.SumWith(clipped[0], 3);
}

// Returns whether `var` is clip(x / 6 + 1 / 2, 0, 1).
bool IsHardSigmoidOf(PatternMatcher& matcher, int var, int x) {
  const absl::Span<const int> of = matcher.Function(var, "HARD_SIGMOID");
  if (of.empty() || of[0] != x) return false;
  const Operator& op = *matcher.Made(var, "Elemwise")->op;
  return IsNearly(NumberParam(op, "alpha", 0.2), 1.0 / 6) && NumberParam(op, "beta", 0.5) == 0.5;
}

// Returns the activation that equals `coefficient` * x * `gate`.
std::optional<PatternMatch> MatchGated(PatternMatcher& matcher, double coefficient, int x,
                                       int gate) {
  const size_t before = matcher.size();
  if (IsNearly(coefficient, 0.5) && IsErfOf(matcher, gate, x)) return FunctionOf("GELU", x);
  matcher.Forget(before);
  if (IsNearly(coefficient, 0.5) && IsTanhOf(matcher, gate, x)) return FunctionOf("GELU_TANH", x);
  matcher.Forget(before);
  if (coefficient == 1) {
    const absl::Span<const int> sigmoid = matcher.Function(gate, "SIGMOID");
    if (!sigmoid.empty() && sigmoid[0] == x) return FunctionOf("SILU", x);
    matcher.Forget(before);
    if (IsHardSigmoidOf(matcher, gate, x)) return FunctionOf("H_SWISH", x);
    matcher.Forget(before);
  }
  if (IsNearly(coefficient, 1.0 / 6) && ClippedOf(matcher, gate) == x) {
    return FunctionOf("H_SWISH", x);
  }
  matcher.Forget(before);
  return std::nullopt;
}

}  // namespace

std::optional<PatternMatch> MatchActivation(PatternMatcher& matcher) {
  const PatternProduct product = matcher.Product(matcher.root().outputs[0]);
  if (product.factors.size() == 1 && IsNearly(product.coefficient, 1.0 / 6)) {
    const std::optional<int> x = ClippedOf(matcher, product.factors[0]);
    if (x) return FunctionOf("HARD_SIGMOID", *x, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
  }
  if (product.factors.size() != 2) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    auto match =
        MatchGated(matcher, product.coefficient, product.factors[i], product.factors[1 - i]);
    if (match) return match;
  }
  return std::nullopt;
}

}  // namespace ashlar
