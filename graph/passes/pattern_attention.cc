// Recognises attention written as two matrix products with a softmax in between. There the whole
// matrix of weights is a tensor; in the operator it never is.
#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/passes/pattern.h"

namespace ashlar {
namespace {

bool IsSet(const Operator& op, absl::string_view name) {
  for (const auto& [key, value] : op.params()) {
    const bool* const flag = std::get_if<bool>(&value);
    if (key == name && flag != nullptr) return *flag;
  }
  return false;
}

// Returns the only factor that is not a number, and multiplies `scale` by the numbers. Returns the
// var itself if there are several factors.
int Unscaled(PatternMatcher& matcher, int var, double& scale) {
  const size_t before = matcher.size();
  const PatternProduct product = matcher.Product(var);
  if (product.factors.size() == 1) {
    scale *= product.coefficient;
    return product.factors[0];
  }
  matcher.Forget(before);
  return var;
}

// Matches keys that were transposed as [N * heads, keys, depth] and are read as [N, heads, depth,
// keys].
std::optional<PatternInput> MatchJoinedKeys(PatternMatcher& matcher, int var, double& scale) {
  const OperatorNode* const reshape = matcher.Made(var, "Reshape");
  if (reshape == nullptr) return std::nullopt;
  const OperatorNode* const turned = matcher.Made(reshape->inputs[0], "Dimshuffle");
  if (turned == nullptr) return std::nullopt;
  const int keys = turned->inputs[0];
  const Shape &from = matcher.Type(keys).shape, &to = matcher.Type(var).shape;
  const Shape& between = matcher.Type(reshape->inputs[0]).shape;
  const ParamList swapped = {{"pattern", std::vector<int64_t>{0, 2, 1}}};
  if (turned->op->params() != swapped || from.rank() != 3 || to.rank() != 4 ||
      to[0] * to[1] != between[0] || to[2] != between[1]) {
    return std::nullopt;
  }
  return PatternInput{Unscaled(matcher, keys, scale), {}, {}, Shape{to[0], to[1], to[3], to[2]}};
}

// Matches keys whose transpose `var` is read by the product.
std::optional<PatternInput> MatchKeys(PatternMatcher& matcher, int var, double& scale) {
  var = Unscaled(matcher, var, scale);
  if (auto keys = MatchJoinedKeys(matcher, var, scale)) return keys;
  const OperatorNode* const node = matcher.Made(var, "Dimshuffle");
  if (node == nullptr) return std::nullopt;
  for (const auto& [key, value] : node->op->params()) {
    const auto* const pattern = std::get_if<std::vector<int64_t>>(&value);
    if (key != "pattern" || pattern == nullptr) continue;
    const std::vector<int64_t> in_order = {0, 1, 2, 3};
    if (!std::is_permutation(pattern->begin(), pattern->end(), in_order.begin(), in_order.end())) {
      return std::nullopt;
    }
    std::vector<int64_t> permutation = *pattern;
    std::swap(permutation[2], permutation[3]);
    if (permutation == in_order) permutation.clear();
    return PatternInput{Unscaled(matcher, node->inputs[0], scale), {}, std::move(permutation), {}};
  }
  return std::nullopt;
}

struct Scores {
  double scale = 1;
  int queries = 0;
  PatternInput keys;
};

std::optional<Scores> MatchScores(PatternMatcher& matcher, int var) {
  const size_t before = matcher.size();
  Scores scores;
  const OperatorNode* const product =
      matcher.Made(Unscaled(matcher, var, scores.scale), "MatrixMul");
  if (product != nullptr && !IsSet(*product->op, "transposeA")) {
    scores.queries = Unscaled(matcher, product->inputs[0], scores.scale);
    if (IsSet(*product->op, "transposeB")) {
      scores.keys = {Unscaled(matcher, product->inputs[1], scores.scale), {}, {}, {}};
      return scores;
    }
    if (auto keys = MatchKeys(matcher, product->inputs[1], scores.scale)) {
      scores.keys = *std::move(keys);
      return scores;
    }
  }
  matcher.Forget(before);
  return std::nullopt;
}

// Looks through Where(IsNaN(weights), 0, weights), as exporters guard a softmax; returns the
// weights.
int Unguarded(PatternMatcher& matcher, int var, bool& guarded) {
  const size_t before = matcher.size();
  const absl::Span<const int> chosen = matcher.Function(var, "SELECT");
  if (chosen.size() == 3 && matcher.Number(chosen[1]) == 0.0) {
    // Flags of Bool are converted to numbers for SELECT, and from numbers after EQ.
    const auto flags = [&](const OperatorNode* conversion) -> absl::Span<const int> {
      if (conversion == nullptr) return {};
      return matcher.Function(conversion->inputs[0], "EQ");
    };
    const absl::Span<const int> differ = flags(matcher.Made(chosen[0], "TypeCvt"));
    if (!differ.empty() && matcher.Number(differ[1]) == 0.0) {
      const absl::Span<const int> same = flags(matcher.Made(differ[0], "TypeCvt"));
      guarded = !same.empty() && same[0] == chosen[2] && same[1] == chosen[2];
      if (guarded) return chosen[2];
    }
  }
  matcher.Forget(before);
  return var;
}

// If a row sees no key, softmax gives NaN but Attention gives zeros; so without a guard the mask
// must be finite.
bool IsMask(const PatternMatcher& matcher, int var, bool guarded) {
  if (guarded) return true;
  const HostTensor* const mask = matcher.Constant(var);
  if (mask == nullptr || !mask->has_data()) return false;
  for (int64_t i = 0; i < mask->num_elements(); ++i) {
    if (!std::isfinite(mask->At(i))) return false;
  }
  return true;
}

}  // namespace

std::optional<PatternMatch> MatchAttention(PatternMatcher& matcher) {
  const OperatorNode* const sums = matcher.Made(matcher.root().outputs[0], "MatrixMul");
  if (sums == nullptr || IsSet(*sums->op, "transposeA") || IsSet(*sums->op, "transposeB")) {
    return std::nullopt;
  }
  bool guarded = false;
  const int weights = Unguarded(matcher, sums->inputs[0], guarded), values = sums->inputs[1];
  const OperatorNode* const softmax = matcher.Made(weights, "Softmax");
  const int rank = matcher.Type(weights).shape.rank();
  if (softmax == nullptr || rank != 4) return std::nullopt;
  const double axis = NumberParam(*softmax->op, "axis", -1);
  if (axis != -1 && axis != rank - 1) return std::nullopt;
  std::optional<int> mask;
  std::optional<Scores> scores = MatchScores(matcher, softmax->inputs[0]);
  if (!scores) {
    const absl::Span<const int> sum = matcher.Function(softmax->inputs[0], "ADD");
    for (size_t i = 0; i < sum.size() && !scores; ++i) {
      if (!IsMask(matcher, sum[i], guarded)) continue;
      scores = MatchScores(matcher, sum[1 - i]);
      mask = sum[i];
    }
  }
  if (!scores || !std::isfinite(scores->scale)) return std::nullopt;
  PatternMatch match = {"Attention", {{"scale", scores->scale}, {"causal", false}}, {}};
  if (guarded) match.params.push_back({"zero_nan", true});
  match.inputs = {PatternInput{scores->queries, {}, {}, {}}, std::move(scores->keys),
                  PatternInput{values, {}, {}, {}}};
  if (mask) match.inputs.push_back(PatternInput{*mask, {}, {}, {}});
  return match;
}

}  // namespace ashlar
