#include "runtime/plan/stages/channels_last.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/rewriter.h"
#include "graph/status.h"
#include "opr/table.h"
#include "runtime/device/device.h"
#include "runtime/plan/stages/kernel_choice.h"

namespace ashlar {
namespace {

bool IsRowMajorImage(const TensorType& type) {
  return type.shape.rank() == 4 && type.format == Format::kDefault && type.shape.num_elements() > 0;
}

using Axes = std::vector<int64_t>;

// Returns the permutation of axes by which the node moves a row-major image; otherwise nothing.
Axes FindPermutation(const Graph& graph, const OperatorNode& node) {
  if (node.op->role() != Role::kCompute || node.inputs.size() != 1 || node.outputs.size() != 1 ||
      !IsRowMajorImage(graph.var(node.inputs[0]).type) ||
      !IsRowMajorImage(graph.var(node.outputs[0]).type)) {
    return {};
  }
  std::optional<Movement> movement = node.op->AsMovement(graph.SiteOf(node).inputs);
  return movement ? std::move(movement->axes) : Axes();
}

class Views {
 public:
  Views(const Graph& graph, const Device& device) : graph_(graph), device_(device) {
    for (const OperatorNode& node : graph.nodes()) {
      const Axes axes = FindPermutation(graph, node);
      std::vector<int> following;
      if (axes == Axes{0, 3, 1, 2} && AllTake(node.outputs[0], following)) {
        last_.push_back(node.outputs[0]);
        last_.insert(last_.end(), following.begin(), following.end());
      }
      if (axes == Axes{0, 2, 3, 1} && IsMadeForIt(node.inputs[0])) {
        last_.push_back(node.inputs[0]);
      }
    }
  }

  bool empty() const { return last_.empty(); }

  absl::StatusOr<Graph> Run() && {
    GraphRewriter rewriter(graph_);
    for (const OperatorNode& node : graph_.nodes()) {
      if (node.outputs.size() != 1 || !IsLast(node.outputs[0])) {
        ASHLAR_RETURN_IF_ERROR(rewriter.Copy(node));
        continue;
      }
      GraphBuilder::NodeOptions options = rewriter.Identity(node);
      options.output_formats = {Format::kNHWC};
      const OperatorPtr op = NamesFormat(node) ? Operators().MakeRelayout(Format::kNHWC) : node.op;
      ASHLAR_ASSIGN_OR_RETURN(
          const std::vector<int> made,
          rewriter.builder().Add(op, rewriter.MapAll(node.inputs), std::move(options)));
      rewriter.Replace(node.outputs[0], made[0]);
    }
    return std::move(rewriter).Finish();
  }

 private:
  bool IsLast(int var) const { return std::find(last_.begin(), last_.end(), var) != last_.end(); }
  bool NamesFormat(const OperatorNode& node) const {
    return node.op->storage_rules(graph_.SiteOf(node)).names_format;
  }
  bool Takes(const OperatorNode& node, int var) const {
    return TakesChannelsLast(graph_, node, var, device_);
  }

  // Returns whether all operators that read the var, at least one, take it in NHWC. Conversions of
  // single elements make their row-major output in it, too, if its readers take it; such outputs
  // are added to `following`.
  bool AllTake(int var, std::vector<int>& following) const {
    const std::vector<int>& readers = graph_.readers(var);
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](int reader) {
      const OperatorNode& node = graph_.node(reader);
      if (node.op->role() != Role::kCompute || !Takes(node, var)) return false;
      const bool follows =
          node.inputs.size() == 1 && node.outputs.size() == 1 &&
          node.op->storage_rules(graph_.SiteOf(node)).format == FormatRule::kFollow &&
          IsRowMajorImage(graph_.var(node.outputs[0]).type);
      std::vector<int> more;
      if (follows && AllTake(node.outputs[0], more)) {
        following.push_back(node.outputs[0]);
        following.insert(following.end(), more.begin(), more.end());
      }
      return true;
    });
  }

  // Returns whether the var is converted from another format for its only reader.
  bool IsMadeForIt(int var) const {
    const OperatorNode& producer = graph_.node(graph_.var(var).producer);
    return producer.op->role() == Role::kCompute && producer.outputs.size() == 1 &&
           graph_.readers(var).size() == 1 && NamesFormat(producer) && Takes(producer, var);
  }

  const Graph& graph_;
  const Device& device_;
  std::vector<int> last_;  // vars
};

}  // namespace

absl::StatusOr<Graph> ViewChannelsLast(Graph graph, const Device& device) {
  Views views(graph, device);
  if (views.empty()) return graph;
  return std::move(views).Run();
}

}  // namespace ashlar
