// Patterns: subgraphs that exporters write in place of one operator. A pattern is a function that
// starts from the last node of such a subgraph and walks to its beginning through a PatternMatcher.
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

// An input of the operator that replaces a pattern.
struct PatternInput {
  int var = -1;  // of the graph; -1: use `constant`
  HostTensor constant;
  std::vector<int64_t> permutation;  // of the axes of `var`; empty: unchanged
  std::optional<Shape> shape;        // the shape that `var` then gets
};

// A match: the operator by name (OperatorTable), and its inputs. Its output has the pattern's
// elements, possibly in another shape.
struct PatternMatch {
  absl::string_view type;
  ParamList params;
  std::vector<PatternInput> inputs;
  bool folds = false;  // the operator takes the first two inputs, then its result and the next one
};

// A product of vars and a number.
struct PatternProduct {
  double coefficient = 1;
  std::vector<int> factors;
};

// Collects the nodes of a match. Every query except Number and Type adds the nodes it returns or
// walks through. Forget removes the nodes of a branch that did not match.
class PatternMatcher {
 public:
  // `root`: the last node of the pattern.
  PatternMatcher(const Graph& graph, int root) : graph_(graph), nodes_{root} {}

  const OperatorNode& root() const { return graph_.node(nodes_[0]); }
  const TensorType& Type(int var) const { return graph_.var(var).type; }
  const HostTensor* Constant(int var) const { return graph_.constant(var); }
  // Returns the only element of a constant.
  std::optional<double> Number(int var) const;

  // Returns the node whose only output is `var` if it is an operator of this type.
  const OperatorNode* Made(int var, absl::string_view type);
  // Returns the operands of a scalar function of this name; empty if another operator makes the
  // var.
  absl::Span<const int> Function(int var, absl::string_view name);
  // Returns the other operand if the var is a sum with `number`.
  std::optional<int> SumWith(int var, double number);
  // Returns whether `var` is an image, made by operators that read and write blocks of channels.
  bool IsImage(int var) const;
  // Returns the factors of `var`, at most `most`. Looks through products and quotients by numbers
  // that have no other reader.
  PatternProduct Product(int var, int most = 4);

  size_t size() const { return nodes_.size(); }
  void Forget(size_t size) { nodes_.resize(size); }
  absl::Span<const int> nodes() const { return nodes_; }
  // Returns whether all readers of these nodes are in the match, except readers of the root.
  bool IsClosed() const;

 private:
  bool IsRoot(int var) const { return graph_.var(var).producer == nodes_[0]; }

  const Graph& graph_;
  std::vector<int> nodes_;
};

// Returns a parameter, or its default if it is omitted.
double NumberParam(const Operator& op, absl::string_view name, double fallback);
std::string TextParam(const Operator& op, absl::string_view name);

// Returns whether the values are equal up to Float32 rounding.
bool IsNearly(double value, double expected);

using Pattern = std::optional<PatternMatch> (*)(PatternMatcher& matcher);

// Matches (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + bias, with or without the last
// two.
std::optional<PatternMatch> MatchLayerNorm(PatternMatcher& matcher);
// Matches softmax(scale * queries * transposed keys + mask) * values.
std::optional<PatternMatch> MatchAttention(PatternMatcher& matcher);
// Matches x / 2 * (1 + erf(x / sqrt(2))), x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))),
// x * sigmoid(x), x * clip(x + 3, 0, 6) / 6, clip(x + 3, 0, 6) / 6.
std::optional<PatternMatch> MatchActivation(PatternMatcher& matcher);
// Matches reductions of rows and columns of an image, in one operator or several.
std::optional<PatternMatch> MatchPooling(PatternMatcher& matcher);
// Matches a sum or maximum along the axis by which tensors are joined, each of size 1 there.
std::optional<PatternMatch> MatchJoined(PatternMatcher& matcher);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_PASSES_PATTERN_H_
