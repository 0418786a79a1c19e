// v = momentum v + g + decay w, w -= rate v, with the first sum where g is made.
#include "training/sums_in_momentum.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/rewriter.h"
#include "graph/status.h"
#include "opr/convolution_filter_update.h"
#include "opr/matrix_mul_update.h"
#include "opr/update.h"

namespace ashlar {
namespace {

// What makes `alpha` times a state plus what the operator makes; null where there is no such one.
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
  // Of an update and of the node whose output it reads as gradient.
  struct Sum {
    const OperatorNode* update = nullptr;
    OperatorPtr op;
  };

  void FindSum(const OperatorNode& node) {
    if (node.op->type() != SgdUpdate::kType) return;
    const SgdUpdateParam& param = static_cast<const SgdUpdate&>(*node.op).param();
    const int gradient = node.inputs[SgdUpdate::kGradient];
    if (param.momentum == 0 || param.nesterov || step_.readers(gradient).size() != 1) return;
    const int producer = step_.var(gradient).producer;
    OperatorPtr op = AddingTo(*step_.node(producer).op, param.momentum);
    if (op == nullptr) return;
    sums_[producer] = {&node, std::move(op)};
    summed_[&node] = producer;
  }

  absl::Status Visit(int index) {
    const OperatorNode& node = step_.node(index);
    if (early_.contains(index)) return absl::OkStatus();
    if (const auto sum = sums_.find(index); sum != sums_.end()) return AddSum(node, sum->second);
    if (summed_.contains(&node)) return AddUpdateOf(node);
    return rewriter_.Copy(node);
  }

  absl::Status AddSum(const OperatorNode& node, const Sum& sum) {
    ASHLAR_RETURN_IF_ERROR(CopyStatesBehind(step_.var(node.outputs[0]).producer));
    const int velocity = sum.update->inputs[SgdUpdate::kVelocity];
    return rewriter_.Substitute(
        node, sum.op,
        {rewriter_.Map(node.inputs[0]), rewriter_.Map(node.inputs[1]), rewriter_.Map(velocity)});
  }

  // Momentums stand behind all gradients. All come at once, so that states stay in their order.
  absl::Status CopyStatesBehind(int index) {
    if (!early_.empty()) return absl::OkStatus();
    for (int n = index + 1; n < static_cast<int>(step_.nodes().size()); ++n) {
      if (step_.node(n).op->role() != Role::kState) continue;
      ASHLAR_RETURN_IF_ERROR(rewriter_.Copy(step_.node(n)));
      early_.insert(n);
    }
    return absl::OkStatus();
  }

  absl::Status AddUpdateOf(const OperatorNode& node) {
    const double decay = static_cast<const SgdUpdate&>(*node.op).param().weight_decay;
    const int weight = rewriter_.Map(node.inputs[SgdUpdate::kWeight]);
    int velocity = rewriter_.Map(node.inputs[SgdUpdate::kGradient]);
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
  absl::flat_hash_map<int, Sum> sums_;                    // by node that makes a gradient
  absl::flat_hash_map<const OperatorNode*, int> summed_;  // by update, that node
  absl::flat_hash_set<int> early_;                        // states that are there before their turn
};

}  // namespace

absl::StatusOr<Graph> SumGradientsInMomentum(const Graph& step) { return Rewrite(step).Run(); }

}  // namespace ashlar
