// Recognises sums, means and maxima of each channel of an image, over rows and columns at once or
// one after the other, in any shape. As poolings they read blocks of channels, and strips.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "graph/passes/pattern.h"

namespace ashlar {
namespace {

// Elements of a tensor as [outer, reduced, inner].
struct ReducedAxes {
  int64_t reduced = 1, inner = 1;
};

// Returns nullopt if the reduced axes are not adjacent, or there are no elements.
std::optional<ReducedAxes> AxesBetween(const Shape& x, const Shape& y) {
  if (x.rank() != y.rank() || x.num_elements() == 0) return std::nullopt;
  ReducedAxes axes;
  bool ended = false;  // an axis before the reduced ones was seen
  for (int i = x.rank() - 1; i >= 0; --i) {
    if (x[i] == 1) continue;
    if (x[i] == y[i]) {
      ended = axes.reduced > 1;
      if (!ended) axes.inner *= x[i];
    } else if (ended) {
      return std::nullopt;
    } else {
      axes.reduced *= x[i];
    }
  }
  return axes;
}

std::optional<PatternMatch> PoolingOf(const std::string& mode, int image, const Shape& shape) {
  std::optional<PatternMatch> match = PatternMatch{"", {}, {PatternInput{image, {}, {}, {}}}};
  if (mode == "SUM") {  // rows that are not the last ones of an image are not divided
    match->type = "PoolingRows";
    match->params = {{"mode", std::string("AVERAGE")}, {"rows", int64_t{0}}};
    return match;
  }
  match->type = "PoolingForward";
  match->params = {
      {"format", std::string("NCHW")}, {"mode", std::string(mode == "MAX" ? "MAX" : "AVERAGE")},
      {"window_h", shape[2]},          {"window_w", shape[3]},
      {"stride_h", int64_t{1}},        {"stride_w", int64_t{1}},
      {"pad_h", int64_t{0}},           {"pad_w", int64_t{0}}};
  return match;
}

}  // namespace

std::optional<PatternMatch> MatchPooling(PatternMatcher& matcher) {
  const std::string mode = TextParam(*matcher.root().op, "mode");
  if (matcher.root().op->type() != "Reduce" || (mode != "SUM" && mode != "MAX" && mode != "MEAN")) {
    return std::nullopt;
  }
  int64_t elements = 1;  // of a result
  int var = matcher.root().outputs[0];
  for (;;) {
    const Shape& shape = matcher.Type(var).shape;
    if (elements > 1 && shape.rank() == 4 && shape[2] * shape[3] == elements &&
        matcher.IsImage(var)) {
      return PoolingOf(mode, var, shape);
    }
    if (const OperatorNode* const moved = matcher.Made(var, "Reshape")) {
      var = moved->inputs[0];
      continue;
    }
    const OperatorNode* const reduce = matcher.Made(var, "Reduce");
    if (reduce == nullptr || TextParam(*reduce->op, "mode") != mode) return std::nullopt;
    const auto axes = AxesBetween(matcher.Type(reduce->inputs[0]).shape, shape);
    if (!axes || elements % axes->inner != 0) return std::nullopt;
    elements *= axes->reduced;
    var = reduce->inputs[0];
  }
}

}  // namespace ashlar
