// Replaces operators that exporters take apart by one operator. Each pattern is searched from the
// end of the graph to its begin, so that the largest match is found first.
#include <utility>

#include "graph/passes/pass.h"
#include "graph/passes/pattern.h"
#include "graph/rewriter.h"
#include "graph/status.h"

namespace ashlar {
namespace {

constexpr Pattern kPatterns[] = {MatchLayerNorm, MatchAttention, MatchActivation, MatchPooling,
                                 MatchJoined};

// A checked match.
struct Recognised {
  OperatorPtr op;
  std::vector<PatternInput> inputs;
  bool folds = false;     // as PatternMatch::folds
  bool reshapes = false;  // its output has another shape than the pattern's
};

class Recogniser {
 public:
  Recogniser(const Graph& graph, const OperatorTable& operators, const HasKernel& has_kernel)
      : graph_(graph),
        operators_(operators),
        has_kernel_(has_kernel),
        taken_(graph.nodes().size(), false),
        recognised_(graph.nodes().size()) {}

  absl::StatusOr<Graph> Run() && {
    for (int i = static_cast<int>(graph_.nodes().size()) - 1; i >= 0; --i) {
      const OperatorNode& node = graph_.node(i);
      if (taken_[i] || node.op->role() != Role::kCompute || node.outputs.size() != 1) continue;
      for (const Pattern pattern : kPatterns) {
        ASHLAR_ASSIGN_OR_RETURN(const bool found, Look(i, pattern));
        if (found) break;
      }
    }
    GraphRewriter rewriter(graph_);
    for (size_t i = 0; i < recognised_.size(); ++i) {
      const OperatorNode& node = graph_.node(static_cast<int>(i));
      if (!recognised_[i]) {
        ASHLAR_RETURN_IF_ERROR(rewriter.Copy(node));  // Finish drops nodes without a reader
        continue;
      }
      std::vector<int> inputs;
      for (const PatternInput& input : recognised_[i]->inputs) {
        ASHLAR_ASSIGN_OR_RETURN(const int var, Add(rewriter, input));
        inputs.push_back(var);
      }
      OperatorPtr op = recognised_[i]->op;
      while (recognised_[i]->folds && inputs.size() > 2) {
        ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                                rewriter.builder().Add(op, {inputs[0], inputs[1]}));
        inputs.erase(inputs.begin());
        inputs[0] = made[0];
      }
      if (recognised_[i]->reshapes) {
        ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                                rewriter.builder().Add(std::move(op), std::move(inputs)));
        const Shape& shape = graph_.var(node.outputs[0]).type.shape;
        ASHLAR_ASSIGN_OR_RETURN(const int target, AddShape(rewriter, shape));
        inputs = {made[0], target};
        ASHLAR_ASSIGN_OR_RETURN(op, operators_.Make("Reshape", {}));
      }
      ASHLAR_RETURN_IF_ERROR(rewriter.Substitute(node, std::move(op), std::move(inputs)));
    }
    return std::move(rewriter).Finish();
  }

 private:
  // Returns whether the pattern ends in node `root`, as one operator that the device has.
  absl::StatusOr<bool> Look(int root, Pattern pattern) {
    PatternMatcher matcher(graph_, root);
    std::optional<PatternMatch> match = pattern(matcher);
    if (!match || !matcher.IsClosed()) return false;
    for (const int node : matcher.nodes()) {
      if (taken_[node]) return false;
    }
    ASHLAR_ASSIGN_OR_RETURN(OperatorPtr op, operators_.Make(match->type, match->params));
    if (has_kernel_ && !has_kernel_(*op)) return false;
    std::vector<InputInfo> infos;
    for (const PatternInput& input : match->inputs) {
      // A scalar with more dimensions than the tensor that it scales widens it.
      const size_t axes = input.permutation.size();
      if (axes != 0 && graph_.var(input.var).type.shape.rank() != static_cast<int>(axes)) {
        return false;
      }
      infos.push_back({TypeOf(input)});
      if (infos.back().type.dtype != DType::kFloat32) return false;
    }
    if (match->folds) infos.resize(2);  // all are of one type
    const auto outputs = op->Infer(infos);
    const TensorType& expected = graph_.var(graph_.node(root).outputs[0]).type;
    if (!outputs.ok() || outputs->size() != 1) return false;
    const TensorType& made = (*outputs)[0];
    const bool reshapes =
        made.shape != expected.shape && made.shape.num_elements() == expected.shape.num_elements();
    if (made != expected && (!reshapes || made.Reshaped(expected.shape) != expected)) return false;
    for (const int node : matcher.nodes()) taken_[node] = true;
    recognised_[root] = Recognised{std::move(op), std::move(match->inputs), match->folds, reshapes};
    return true;
  }

  TensorType TypeOf(const PatternInput& input) const {
    if (input.var < 0) return {input.constant.dtype(), input.constant.shape()};
    TensorType type = graph_.var(input.var).type;
    const Shape shape = type.shape;
    for (size_t i = 0; i < input.permutation.size(); ++i) {
      type.shape[static_cast<int>(i)] = shape[static_cast<int>(input.permutation[i])];
    }
    if (input.shape) type.shape = *input.shape;
    return type;
  }

  absl::StatusOr<int> Add(GraphRewriter& rewriter, const PatternInput& input) const {
    if (input.var < 0) return AddConstant(rewriter, input.constant);
    int var = rewriter.Map(input.var);
    if (!input.permutation.empty()) {
      ASHLAR_ASSIGN_OR_RETURN(OperatorPtr op,
                              operators_.Make("Dimshuffle", {{"pattern", input.permutation}}));
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                              rewriter.builder().Add(std::move(op), {var}));
      var = made[0];
    }
    if (input.shape) {
      ASHLAR_ASSIGN_OR_RETURN(const int shape, AddShape(rewriter, *input.shape));
      ASHLAR_ASSIGN_OR_RETURN(OperatorPtr op, operators_.Make("Reshape", {}));
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                              rewriter.builder().Add(std::move(op), {var, shape}));
      var = made[0];
    }
    return var;
  }

  absl::StatusOr<int> AddShape(GraphRewriter& rewriter, const Shape& shape) const {
    return AddConstant(
        rewriter, HostTensor::FromValues<int64_t>(DType::kInt64, {shape.rank()}, shape.dims()));
  }

  absl::StatusOr<int> AddConstant(GraphRewriter& rewriter, const HostTensor& value) const {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                            rewriter.builder().Add(operators_.MakeConstant(value), {}));
    return made[0];
  }

  const Graph& graph_;
  const OperatorTable& operators_;
  const HasKernel& has_kernel_;
  std::vector<bool> taken_;                            // nodes that an operator replaces
  std::vector<std::optional<Recognised>> recognised_;  // by the last node of a pattern
};

}  // namespace

absl::StatusOr<Graph> Recognise(const Graph& graph, const OperatorTable& operators,
                                const HasKernel& has_kernel) {
  ASHLAR_ASSIGN_OR_RETURN(const Graph recognised, Recogniser(graph, operators, has_kernel).Run());
  return SinkMovements(recognised, operators);
}

}  // namespace ashlar
