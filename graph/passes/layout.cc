#include <map>
#include <utility>

#include "graph/passes/pass.h"
#include "graph/rewriter.h"
#include "graph/status.h"

namespace ashlar {
namespace {

bool IsImage(const TensorType& type) {
  return type.dtype == DType::kFloat32 && type.shape.rank() == 4;
}

class LayoutAssigner {
 public:
  LayoutAssigner(const Graph& graph, const OperatorTable& operators)
      : operators_(operators), rewriter_(graph) {}

  absl::StatusOr<Graph> Run() && {
    for (const OperatorNode& node : rewriter_.source().nodes()) ASHLAR_RETURN_IF_ERROR(Add(node));
    return std::move(rewriter_).Finish();
  }

 private:
  const Graph& built() { return rewriter_.builder().graph(); }
  const TensorType& TypeOf(int new_var) { return built().var(new_var).type; }

  absl::Status Add(const OperatorNode& node) {
    std::vector<int> inputs = rewriter_.MapAll(node.inputs);
    const bool blocked = WantsBlocks(node, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (node.op->input_use(static_cast<int>(i)) != InputUse::kDeviceValue) continue;
      const Format format =
          blocked ? InputFormat(node, inputs, static_cast<int>(i)) : Format::kDefault;
      ASHLAR_ASSIGN_OR_RETURN(inputs[i], InFormat(inputs[i], format));
    }
    GraphBuilder::NodeOptions options = rewriter_.Identity(node);
    options.output_formats.clear();
    if (blocked) {
      for (int output : rewriter_.source().value_outputs(node)) {
        const bool image = IsImage(rewriter_.source().var(output).type);
        options.output_formats.push_back(image ? Format::kNCHW16c : Format::kDefault);
      }
    }
    ASHLAR_ASSIGN_OR_RETURN(
        std::vector<int> outputs,
        rewriter_.builder().Add(node.op, std::move(inputs), std::move(options)));
    for (size_t i = 0; i < outputs.size(); ++i) rewriter_.Replace(node.outputs[i], outputs[i]);
    return absl::OkStatus();
  }

  // Whether the node is to make its images in NCHW16c.
  bool WantsBlocks(const OperatorNode& node, const std::vector<int>& inputs) {
    if (node.op->role() != Role::kCompute || inputs.empty()) return false;
    if (!IsImage(rewriter_.source().var(node.outputs[0]).type)) return false;
    const FormatRule rule = Rule(node);
    if (rule == FormatRule::kDefaultOnly || rule == FormatRule::kBlocked) {
      return rule == FormatRule::kBlocked;
    }
    for (int input : inputs) {
      if (TypeOf(input).format == Format::kNCHW16c) return true;
    }
    return false;
  }

  // The format in which a node that makes images in NCHW16c reads input i. Constants, most often
  // one value a channel or weights that are packed anyway, are read as they are.
  Format InputFormat(const OperatorNode& node, const std::vector<int>& inputs, int i) {
    const TensorType& type = TypeOf(inputs[i]);
    if (!IsImage(type)) return type.format;
    const FormatRule rule = Rule(node);
    bool convert = built().constant(inputs[i]) == nullptr;
    if (rule == FormatRule::kUniform) {
      convert = true;
    } else if (rule == FormatRule::kBlocked && i > 0) {
      convert = convert && type.shape == rewriter_.source().var(node.outputs[0]).type.shape;
    } else {
      convert = convert && type.shape[1] >= kChannelBlock;
    }
    return convert ? Format::kNCHW16c : type.format;
  }

  FormatRule Rule(const OperatorNode& node) {
    return node.op->format_rule(rewriter_.source().InputTypes(node));
  }

  // The var in a format: itself, or the relayout of it that all its readers share.
  absl::StatusOr<int> InFormat(int var, Format format) {
    if (TypeOf(var).format == format) return var;
    const auto [entry, is_new] = relayouts_.try_emplace({var, format}, -1);
    if (is_new) {
      ASHLAR_ASSIGN_OR_RETURN(std::vector<int> outputs,
                              rewriter_.builder().Add(operators_.MakeRelayout(format), {var}));
      entry->second = outputs[0];
    }
    return entry->second;
  }

  const OperatorTable& operators_;
  GraphRewriter rewriter_;
  std::map<std::pair<int, Format>, int> relayouts_;  // by new var
};

}  // namespace

absl::StatusOr<Graph> AssignLayout(const Graph& graph, const OperatorTable& operators) {
  return LayoutAssigner(graph, operators).Run();
}

}  // namespace ashlar
