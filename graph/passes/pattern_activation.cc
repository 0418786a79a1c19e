// Activations made of products: GELU of five nodes, SiLU, hard swish and hard sigmoid.
#include <cmath>
#include <string>
#include <utility>

#include "graph/passes/pattern.h"

namespace ashlar {
namespace {

PatternMatch FunctionOf(const char* name, int x, ParamList params = {}) {
  params.emplace(params.begin(), "mode", std::string(name));
  return {"Elemwise", std::move(params), {PatternInput{x, {}, {}, {}}}};
}

// Whether `var` is 1 + erf(x / sqrt(2)).
bool IsErfOf(PatternMatcher& matcher, int var, int x) {
  const std::optional<int> erf = matcher.SumWith(var, 1);
  if (!erf) return false;
  const absl::Span<const int> argument = matcher.Function(*erf, "ERF");
  if (argument.empty()) return false;
  const PatternProduct product = matcher.Product(argument[0]);
  return product.factors == std::vector<int>{x} && IsNearly(product.coefficient, std::sqrt(0.5));
}

// What `var` is clip(x + 3, 0, 6) of.
std::optional<int> ClippedOf(PatternMatcher& matcher, int var) {
  const absl::Span<const int> clipped = matcher.Function(var, "CLAMP");
  if (clipped.empty()) return std::nullopt;
  const Operator& op = *matcher.Made(var, "Elemwise")->op;
  if (NumberParam(op, "lo", 0) != 0 || NumberParam(op, "hi", 6) != 6) return std::nullopt;
  return matcher.SumWith(clipped[0], 3);
}

// Whether `var` is clip(x / 6 + 1 / 2, 0, 1).
bool IsHardSigmoidOf(PatternMatcher& matcher, int var, int x) {
  const absl::Span<const int> of = matcher.Function(var, "HARD_SIGMOID");
  if (of.empty() || of[0] != x) return false;
  const Operator& op = *matcher.Made(var, "Elemwise")->op;
  return IsNearly(NumberParam(op, "alpha", 0.2), 1.0 / 6) && NumberParam(op, "beta", 0.5) == 0.5;
}

// The activation whose product with a number is `x` times `gate`, times `coefficient`.
std::optional<PatternMatch> MatchGated(PatternMatcher& matcher, double coefficient, int x,
                                       int gate) {
  const size_t before = matcher.size();
  if (IsNearly(coefficient, 0.5) && IsErfOf(matcher, gate, x)) return FunctionOf("GELU", x);
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
