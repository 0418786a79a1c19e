// Recognises sums and maxima of tensors that are stacked only to be reduced: every tensor gets an
// axis of size 1, all are joined along it, and the reduction removes it. Functions of two tensors
// need no copy of them all.
#include <optional>
#include <string>

#include "graph/passes/pattern.h"

namespace ashlar {

std::optional<PatternMatch> MatchJoined(PatternMatcher& matcher) {
  const OperatorNode& root = matcher.root();
  const std::string mode = TextParam(*root.op, "mode");
  if (root.op->type() != "Reduce" || (mode != "SUM" && mode != "MAX")) return std::nullopt;
  const OperatorNode* const join = matcher.Made(root.inputs[0], "Concat");
  if (join == nullptr || join->inputs.size() < 2) return std::nullopt;
  const std::string function = mode == "SUM" ? "ADD" : "MAX";
  PatternMatch match = {"Elemwise", {{"mode", function}}, {}, /*folds=*/true};
  for (const int input : join->inputs) {
    // An input of the result's shape has size 1 along the joined axis, which alone is reduced.
    if (matcher.Type(input) != matcher.Type(root.outputs[0])) return std::nullopt;
    match.inputs.push_back(PatternInput{input, {}, {}, {}});
  }
  return match;
}

}  // namespace ashlar
