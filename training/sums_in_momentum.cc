// v = momentum v + g + decay w, w -= rate v; the first sum is computed by the operator that makes
// g. If g is a sum itself, e.g. over tiles, its terms are added to v one by one.
#include "training/sums_in_momentum.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/graph_builder.h"
#include "graph/rewriter.h"
#include "graph/status.h"
#include "opr/convolution_filter_update.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul_update.h"
#include "opr/update.h"

namespace ashlar {
namespace {

// Returns the operator that adds its result to `alpha` times a state; null if there is none.
OperatorPtr AddingTo(const Operator& op, double alpha) {
  if (op.type() == MatrixMul::kType) {
    const auto& param = static_cast<const MatrixMul&>(op).param();
    return std::make_shared<const MatrixMulUpdate>(MatrixMulUpdateParam{param, alpha});
  }
  if (op.type() == ConvolutionBackwardFilter::kType) {
    const auto& param = static_cast<const ConvolutionBackwardFilter&>(op).param();
    return std::make_shared<const ConvolutionFilterUpdate>(
        ConvolutionFilterUpdateParam{param, alpha});
  }
  return nullptr;
}

class Rewrite {
 public:
  explicit Rewrite(const Graph& step) : step_(step), rewriter_(step) {}

  absl::StatusOr<Graph> Run() && {
    for (const OperatorNode& node : step_.nodes()) FindSum(node);
    for (size_t n = 0; n < step_.nodes().size(); ++n) {
      ASHLAR_RETURN_IF_ERROR(Visit(static_cast<int>(n)));
    }
    return std::move(rewriter_).Finish();
  }

 private:
  // An update, and the operator that adds its gradient, or a term of it.
  struct Sum {
    const OperatorNode* update = nullptr;
    OperatorPtr op;
    int before = -1;  // the term added before it; -1: none
  };

  // Finds the nodes that make the terms of a gradient, and the nodes that add them. False if
  // another node reads a term.
  bool FindTerms(int gradient, std::vector<int>& terms, std::vector<int>& additions) const {
    if (step_.readers(gradient).size() != 1) return false;
    const int producer = step_.var(gradient).producer;
    const OperatorNode& node = step_.node(producer);
    const bool adds = IsElemwise(*node.op, ScalarFunction::kAdd);
    (adds ? additions : terms).push_back(producer);
    return !adds || (FindTerms(node.inputs[0], terms, additions) &&
                     FindTerms(node.inputs[1], terms, additions));
  }

  void FindSum(const OperatorNode& node) {
    if (node.op->type() != SgdUpdate::kType) return;
    const SgdUpdateParam& param = static_cast<const SgdUpdate&>(*node.op).param();
    std::vector<int> terms, additions;
    if (param.momentum == 0 || param.nesterov ||
        !FindTerms(node.inputs[SgdUpdate::kGradient], terms, additions)) {
      return;
    }
    std::sort(terms.begin(), terms.end());
    std::vector<Sum> sums;
    for (const int term : terms) {
      const bool first = sums.empty();
      OperatorPtr op = AddingTo(*step_.node(term).op, first ? param.momentum : 1);
      if (op == nullptr) return;
      sums.push_back({&node, std::move(op), first ? -1 : terms[sums.size() - 1]});
    }
    for (size_t i = 0; i < terms.size(); ++i) sums_[terms[i]] = std::move(sums[i]);
    for (const int addition : additions) added_.insert(addition);
    summed_[&node] = terms.back();
  }

  absl::Status Visit(int index) {
    const OperatorNode& node = step_.node(index);
    if (early_.contains(index)) return absl::OkStatus();
    if (const auto sum = sums_.find(index); sum != sums_.end()) return AddSum(node, sum->second);
    if (added_.contains(index)) return absl::OkStatus();
    if (const auto sum = summed_.find(&node); sum != summed_.end()) {
      return AddUpdateOf(node, sum->second);
    }
    return rewriter_.Copy(node);
  }

  absl::Status AddSum(const OperatorNode& node, const Sum& sum) {
    ASHLAR_RETURN_IF_ERROR(CopyStatesBehind(step_.var(node.outputs[0]).producer));
    const int velocity = sum.before < 0 ? sum.update->inputs[SgdUpdate::kVelocity]
                                        : step_.node(sum.before).outputs[0];
    return rewriter_.Substitute(
        node, sum.op,
        {rewriter_.Map(node.inputs[0]), rewriter_.Map(node.inputs[1]), rewriter_.Map(velocity)});
  }

  // Copies the states early, because states of momentum come after all gradients. Copies all at
  // once, so that states keep their order.
  absl::Status CopyStatesBehind(int index) {
    if (!early_.empty()) return absl::OkStatus();
    for (int n = index + 1; n < static_cast<int>(step_.nodes().size()); ++n) {
      if (step_.node(n).op->role() != Role::kState) continue;
      ASHLAR_RETURN_IF_ERROR(rewriter_.Copy(step_.node(n)));
      early_.insert(n);
    }
    return absl::OkStatus();
  }

  absl::Status AddUpdateOf(const OperatorNode& node, int last_term) {
    const double decay = static_cast<const SgdUpdate&>(*node.op).param().weight_decay;
    const int weight = rewriter_.Map(node.inputs[SgdUpdate::kWeight]);
    int velocity = rewriter_.Map(step_.node(last_term).outputs[0]);
    if (decay != 0) {
      ASHLAR_ASSIGN_OR_RETURN(
          const std::vector<int> decayed,
          rewriter_.builder().Add(std::make_shared<const AddUpdate>(AddUpdateParam{1, decay, 0}),
                                  {velocity, weight}));
      velocity = decayed[0];
    }
    GraphBuilder::NodeOptions options;
    options.name = node.name;
    return rewriter_.builder()
        .Add(std::make_shared<const SgdUpdate>(SgdUpdateParam{}),
             {weight, velocity, rewriter_.Map(node.inputs[SgdUpdate::kRate])}, options)
        .status();
  }

  const Graph& step_;
  GraphRewriter rewriter_;
  absl::flat_hash_map<int, Sum> sums_;                    // by node that makes a gradient or a term
  absl::flat_hash_map<const OperatorNode*, int> summed_;  // by update: the node of its last term
  absl::flat_hash_set<int> added_;                        // nodes that summed the gradients
  absl::flat_hash_set<int> early_;                        // states copied before their turn
};

}  // namespace

absl::StatusOr<Graph> SumGradientsInMomentum(const Graph& step) { return Rewrite(step).Run(); }

}  // namespace ashlar
