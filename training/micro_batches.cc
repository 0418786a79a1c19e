// Gradient accumulation: the mean over a batch is the mean over the means of its micro-batches, if
// no operator mixes images.
#include "training/micro_batches.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/graph_builder.h"
#include "graph/rewriter.h"
#include "graph/state.h"
#include "graph/status.h"
#include "opr/dropout.h"
#include "opr/host_io.h"
#include "opr/table.h"
#include "opr/update.h"

namespace ashlar {
namespace {

bool IsOptimizer(const OperatorNode& node) {
  return node.op->type() == SgdUpdate::kType || node.op->type() == AdamUpdate::kType;
}
// The same for both optimizers.
constexpr int kState = SgdUpdate::kWeight, kGradient = SgdUpdate::kGradient;
static_assert(kState == AdamUpdate::kWeight && kGradient == AdamUpdate::kGradient);

// Whether a node is an input of updates other than a gradient.
bool IsOfUpdates(const OperatorNode& node) {
  return node.op->role() == Role::kInput &&
         (node.binding == TrainingGraph::kRate || node.binding == TrainingGraph::kStep);
}

absl::Status CheckExact(const TrainingGraph& graph) {
  const StateUse use = FindStateUse(graph.step);
  for (const OperatorNode& node : graph.step.nodes()) {
    if (!IsOptimizer(node) || use.state[node.inputs[kGradient]] < 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(node, kLongestUncheckedName),
                     ": its gradient is summed up by the whole step (TrainingOptions::in_parts)"));
  }
  for (const BatchStatistics& norm : graph.parameters.norms) {
    return absl::InvalidArgumentError(absl::StrCat(
        Describe(graph.model.node(norm.node), kLongestUncheckedName),
        ": parts of a batch have statistics of their own; with frozen ones parts are exact"));
  }
  for (const OperatorNode& node : graph.model.nodes()) {
    if (node.op->type() != Dropout::kType) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        Describe(node, kLongestUncheckedName), ": its mask follows from the place in the batch"));
  }
  return absl::OkStatus();
}

// Adds the state that accumulates the gradient of an update.
absl::StatusOr<int> AddSum(const OperatorNode& update, GraphRewriter& rewriter,
                           std::vector<std::string>* sums) {
  const Graph& source = rewriter.source();
  const int state = update.inputs[kState];
  const TensorType& type = source.var(state).type;
  GraphBuilder::NodeOptions options;
  options.name = source.node(source.var(state).producer).name + ".gradient";
  if (sums != nullptr) sums->push_back(options.name);
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<int> made,
      rewriter.builder().Add(Operators().MakeState(HostTensor::Zeros(type)), {}, options));
  return made[0];
}

absl::StatusOr<Graph> Accumulating(const Graph& step, int64_t parts,
                                   std::vector<std::string>& sums) {
  GraphRewriter rewriter(step);
  const AddUpdateParam param{1, 1 / static_cast<double>(parts), 0};
  for (const OperatorNode& node : step.nodes()) {
    if (IsOfUpdates(node)) continue;
    if (!IsOptimizer(node)) {
      ASHLAR_RETURN_IF_ERROR(rewriter.Copy(node));
      continue;
    }
    ASHLAR_ASSIGN_OR_RETURN(const int sum, AddSum(node, rewriter, &sums));
    ASHLAR_RETURN_IF_ERROR(rewriter.builder()
                               .Add(std::make_shared<const AddUpdate>(param),
                                    {sum, rewriter.Map(node.inputs[kGradient])})
                               .status());
  }
  return std::move(rewriter).Finish();
}

absl::StatusOr<Graph> Applying(const Graph& step) {
  GraphRewriter rewriter(step);
  for (const OperatorNode& node : step.nodes()) {
    if (IsOfUpdates(node) || node.op->role() == Role::kState) {
      ASHLAR_RETURN_IF_ERROR(rewriter.Copy(node));
    }
    if (IsOfUpdates(node) && node.binding == TrainingGraph::kRate) {
      GraphBuilder::NodeOptions options;
      options.binding = node.binding;
      ASHLAR_RETURN_IF_ERROR(rewriter.builder()
                                 .Add(std::make_shared<const OutputCallback>(OutputParam()),
                                      {rewriter.Map(node.outputs[0])}, options)
                                 .status());
    }
    if (!IsOptimizer(node)) continue;
    ASHLAR_ASSIGN_OR_RETURN(const int sum, AddSum(node, rewriter, nullptr));
    std::vector<int> inputs = node.inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = static_cast<int>(i) == kGradient ? sum : rewriter.Map(inputs[i]);
    }
    ASHLAR_RETURN_IF_ERROR(rewriter.Substitute(node, node.op, std::move(inputs)));
  }
  return std::move(rewriter).Finish();
}

}  // namespace

absl::StatusOr<MicroBatchGraphs> MakeMicroBatches(const TrainingGraph& graph, int64_t parts) {
  ASHLAR_RETURN_IF_ERROR(CheckExact(graph));
  MicroBatchGraphs graphs;
  ASHLAR_ASSIGN_OR_RETURN(graphs.accumulate, Accumulating(graph.step, parts, graphs.sums));
  ASHLAR_ASSIGN_OR_RETURN(graphs.apply, Applying(graph.step));
  return graphs;
}

}  // namespace ashlar
