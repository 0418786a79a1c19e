// Patterns: parts of a graph that do the work of one operator, as exporters write it that take
// operators apart. A pattern is a function from the node that such a part ends in; it asks a
// PatternMatcher what makes a var, from the end to the beginning.
#ifndef ASHLAR_GRAPH_PASSES_PATTERN_H_
#define ASHLAR_GRAPH_PASSES_PATTERN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace ashlar {

// An input of the operator that takes the place of a pattern.
struct PatternInput {
  int var = -1;  // of the graph; -1: `constant`
  HostTensor constant;
  std::vector<int64_t> permutation;  // of the axes of `var`; empty: as they are
  std::optional<Shape> shape;        // that `var` is then given
};

// A pattern: the operator by name (OperatorTable), and the patterns of its inputs.
struct PatternMatch {
  absl::string_view type;
  ParamList params;
  std::vector<PatternInput> inputs;
};

// A product of vars and a number.
struct PatternProduct {
  double coefficient = 1;
  std::vector<int> factors;
};

// Remembers the nodes that a match is made of. Each question but Number and Type adds the nodes
// that its answer is about; Forget takes back the nodes that a branch without a match has added.
class PatternMatcher {
 public:
  // `root`: the node in which the pattern ends.
  PatternMatcher(const Graph& graph, int root) : graph_(graph), nodes_{root} {}

  const OperatorNode& root() const { return graph_.node(nodes_[0]); }
  const TensorType& Type(int var) const { return graph_.var(var).type; }
  const HostTensor* Constant(int var) const { return graph_.constant(var); }
  // The one element of a constant.
  std::optional<double> Number(int var) const;

  // The node whose only output is `var`, where it is an operator of this type.
  const OperatorNode* Made(int var, absl::string_view type);
  // The operands of a scalar function of this name; empty where another operator makes the var.
  absl::Span<const int> Function(int var, absl::string_view name);
  // The operand beside a number, where the var is such a sum.
  std::optional<int> SumWith(int var, double number);
  // What `var` is the product of, through products and quotients by numbers that nobody else reads;
  // at most `most` of them.
  PatternProduct Product(int var, int most = 4);

  size_t size() const { return nodes_.size(); }
  void Forget(size_t size) { nodes_.resize(size); }
  absl::Span<const int> nodes() const { return nodes_; }
  // Whether only these nodes read their outputs, the root's apart.
  bool IsClosed() const;

 private:
  bool IsRoot(int var) const { return graph_.var(var).producer == nodes_[0]; }

  const Graph& graph_;
  std::vector<int> nodes_;
};

// A parameter, or its value where it is left out.
double NumberParam(const Operator& op, absl::string_view name, double fallback);
std::string TextParam(const Operator& op, absl::string_view name);

// Equal but for the rounding of Float32.
bool IsNearly(double value, double expected);

using Pattern = std::optional<PatternMatch> (*)(PatternMatcher& matcher);

// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + bias, with or without the last two.
std::optional<PatternMatch> MatchLayerNorm(PatternMatcher& matcher);
// softmax(scale * queries * transposed keys + mask) * values.
std::optional<PatternMatch> MatchAttention(PatternMatcher& matcher);
// x / 2 * (1 + erf(x / sqrt(2))), x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))),
// x * sigmoid(x), x * clip(x + 3, 0, 6) / 6, clip(x + 3, 0, 6) / 6.
std::optional<PatternMatch> MatchActivation(PatternMatcher& matcher);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_PASSES_PATTERN_H_
