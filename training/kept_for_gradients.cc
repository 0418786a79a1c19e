#include "training/kept_for_gradients.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph_builder.h"
#include "graph/recompute_choice.h"
#include "graph/rewriter.h"
#include "graph/status.h"
#include "opr/batch_norm_training.h"
#include "opr/elemwise.h"
#include "opr/pooling_index.h"

namespace ashlar {
namespace {

const OperatorNode& ProducerOf(const Graph& graph, int var) {
  return graph.node(graph.var(var).producer);
}

OperatorPtr MakeElemwise(ScalarFunction function) {
  return std::make_shared<const Elemwise>(ElemwiseParam{function});
}

// A max pooling and its gradient: nodes of the step.
struct Pool {
  int forward = 0, backward = 0;
  int relu = -1,
      mask = -1;  // a ReLU directly before it, and the ReLU's gradient; -1: no ReLU to move
};

class PoolRewrite {
 public:
  explicit PoolRewrite(const Graph& step)
      : step_(step),
        towards_(NodesTowards(step, step.outputs()[0].var)),
        rewriter_(step),
        part_of_(step.nodes().size(), -1) {}

  absl::StatusOr<Graph> Run() && {
    for (size_t n = 0; n < step_.nodes().size(); ++n) Find(static_cast<int>(n));
    for (size_t n = 0; n < step_.nodes().size(); ++n) {
      const int node = static_cast<int>(n);
      if (part_of_[n] < 0) {
        ASHLAR_RETURN_IF_ERROR(rewriter_.Copy(step_.node(node)));
      } else {
        ASHLAR_RETURN_IF_ERROR(AddPart(pools_[static_cast<size_t>(part_of_[n])], node));
      }
    }
    return std::move(rewriter_).Finish();
  }

 private:
  void Find(int node) {
    const OperatorNode& forward = step_.node(node);
    if (forward.op->type() != PoolingForward::kType || !towards_[static_cast<size_t>(node)]) return;
    if (!HasPoolingIndex(static_cast<const PoolingForward&>(*forward.op).param())) return;
    const int image = forward.inputs[0];
    Pool pool{node};
    int behind = 0,
        others = 0;  // readers in the backward pass; other readers, without pool and mask
    for (const int reader : step_.readers(image)) {
      const OperatorNode& r = step_.node(reader);
      if (r.op->type() == PoolingBackward::kType && r.inputs[PoolingBackward::kSrc] == image) {
        pool.backward = reader;
        ++behind;
      } else if (IsElemwise(*r.op, ScalarFunction::kSwitchGt0) && r.inputs[0] == image) {
        pool.mask = reader;
      } else if (towards_[static_cast<size_t>(reader)]) {
        others += reader != node;
      } else {
        return;  // saved in any case
      }
    }
    if (behind != 1) return;
    const int gradient = step_.node(pool.backward).outputs[0];
    const OperatorNode& maker = ProducerOf(step_, image);
    const bool moves =
        others == 0 && pool.mask >= 0 && IsElemwise(*maker.op, ScalarFunction::kRelu) &&
        step_.node(pool.mask).inputs[1] == gradient && step_.readers(gradient).size() == 1;
    if (!moves && pool.mask >= 0) return;  // the mask needs the saved image
    if (moves) pool.relu = step_.var(image).producer;
    for (const int part : {pool.forward, pool.backward, pool.relu, pool.mask}) {
      if (part >= 0) part_of_[static_cast<size_t>(part)] = static_cast<int>(pools_.size());
    }
    pools_.push_back(pool);
  }

  absl::Status AddPart(const Pool& pool, int index) {
    const OperatorNode& node = step_.node(index);
    if (index == pool.relu) {  // moves after the pooling
      rewriter_.Replace(node.outputs[0], rewriter_.Map(node.inputs[0]));
      return absl::OkStatus();
    }
    if (index == pool.mask) {  // moves before the gradient of the pooling
      rewriter_.Replace(node.outputs[0], rewriter_.Map(node.inputs[1]));
      return absl::OkStatus();
    }
    const int image = rewriter_.Map(step_.node(pool.forward).inputs[0]);
    const PoolingParam& param =
        static_cast<const PoolingForward&>(*step_.node(pool.forward).op).param();
    if (index == pool.forward) return AddForward(pool, image, param);
    int diff = rewriter_.Map(node.inputs[PoolingBackward::kDiff]);
    if (pool.mask >= 0) {
      const int y = rewriter_.Map(step_.node(pool.forward).outputs[0]);
      ASHLAR_ASSIGN_OR_RETURN(
          const std::vector<int> masked,
          rewriter_.builder().Add(MakeElemwise(ScalarFunction::kSwitchGt0), {y, diff}));
      diff = masked[0];
    }
    return rewriter_.Substitute(node, std::make_shared<const PoolingIndexBackward>(param),
                                {image, diff, indices_.at(pool.forward)});
  }

  absl::Status AddForward(const Pool& pool, int image, const PoolingParam& param) {
    const OperatorNode& node = step_.node(pool.forward);
    ASHLAR_RETURN_IF_ERROR(rewriter_.Substitute(node, node.op, {image}));
    GraphBuilder::NodeOptions options;
    options.name = absl::StrCat(node.name, ".index");
    ASHLAR_ASSIGN_OR_RETURN(
        const std::vector<int> index,
        rewriter_.builder().Add(std::make_shared<const PoolingIndex>(param), {image}, options));
    indices_[pool.forward] = index[0];
    if (pool.relu < 0) return absl::OkStatus();
    options.name = step_.node(pool.relu).name;
    options.id = step_.node(pool.relu).id;
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> y,
                            rewriter_.builder().Add(MakeElemwise(ScalarFunction::kRelu),
                                                    {rewriter_.Map(node.outputs[0])}, options));
    rewriter_.Replace(node.outputs[0], y[0]);
    return absl::OkStatus();
  }

  const Graph& step_;
  const std::vector<bool> towards_;
  GraphRewriter rewriter_;
  std::vector<Pool> pools_;
  std::vector<int> part_of_;               // by node: index of its pool, or -1
  absl::flat_hash_map<int, int> indices_;  // var of the indices, by pooling node
};

// The gradient before masking and, if the activation has one, its upper limit.
struct Unmasked {
  int diff = 0;
  double most = 0;
};

// If `diff` is the gradient masked by a ReLU, or by a clamp at 0, directly after the norm, returns
// the gradient before masking.
std::optional<Unmasked> WithoutMask(const Graph& step, int diff, int normalised) {
  const auto is_activation = [&](int var, ScalarFunction function) {
    const OperatorNode& node = ProducerOf(step, var);
    return IsElemwise(*node.op, function) && node.inputs[0] == normalised;
  };
  if (step.readers(diff).size() != 1) return std::nullopt;
  const OperatorNode& mask = ProducerOf(step, diff);
  if (IsElemwise(*mask.op, ScalarFunction::kSwitchGt0)) {
    if (!is_activation(mask.inputs[0], ScalarFunction::kRelu)) return std::nullopt;
    return Unmasked{mask.inputs[1]};
  }
  // Matches COND_LT_MOV(low, y, COND_LT_MOV(y, high, g)).
  if (!IsElemwise(*mask.op, ScalarFunction::kCondLtMov)) return std::nullopt;
  const int y = mask.inputs[1];
  const OperatorNode& above = ProducerOf(step, mask.inputs[2]);
  if (!is_activation(y, ScalarFunction::kClamp) ||
      !IsElemwise(*above.op, ScalarFunction::kCondLtMov) || above.inputs[0] != y ||
      step.readers(mask.inputs[2]).size() != 1) {
    return std::nullopt;
  }
  const auto& limits = static_cast<const Elemwise&>(*ProducerOf(step, y).op).param().parameters;
  if (limits[0] != 0 || !(limits[1] > 0)) return std::nullopt;
  return Unmasked{above.inputs[2], limits[1]};
}

}  // namespace

absl::StatusOr<Graph> KeepPoolingIndices(const Graph& step) { return PoolRewrite(step).Run(); }

absl::StatusOr<Graph> MaskFromNormInputs(const Graph& step) {
  using Op = BatchNormBackward;
  GraphRewriter rewriter(step);
  for (const OperatorNode& node : step.nodes()) {
    std::optional<Unmasked> unmasked;
    const OperatorNode* norm = nullptr;
    if (node.op->type() == Op::kType && node.inputs.size() == Op::kBias) {
      norm = &ProducerOf(step, node.inputs[Op::kMean]);
      if (norm->op->type() == BatchNormTraining::kType) {
        unmasked = WithoutMask(step, node.inputs[Op::kDiff], norm->outputs[BatchNormTraining::kY]);
      }
    }
    if (!unmasked) {
      ASHLAR_RETURN_IF_ERROR(rewriter.Copy(node));
      continue;
    }
    std::vector<int> inputs = rewriter.MapAll(node.inputs);
    inputs[Op::kDiff] = rewriter.Map(unmasked->diff);
    inputs.push_back(rewriter.Map(norm->inputs[BatchNormTraining::kBias]));
    BatchNormBackwardParam param = static_cast<const Op&>(*node.op).param();
    param.most = unmasked->most;
    ASHLAR_RETURN_IF_ERROR(
        rewriter.Substitute(node, std::make_shared<const Op>(param), std::move(inputs)));
  }
  return std::move(rewriter).Finish();
}

}  // namespace ashlar
