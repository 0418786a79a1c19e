// Cross-layer equalisation: Nagel et al., "Data-free quantization through weight equalization and
// bias correction" (2019). They balance the weights before a tensor with the weights after it. Here
// weights have a scale for each output channel; so the observed values of a tensor are balanced
// with the weights that read them, as in Xiao et al., "SmoothQuant" (2022). In both, the largest
// channel sets the rounding step. Tensors are scaled together if only activations, pools and sums
// are between them, which scales pass through.
#include "quantization/equalise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "graph/rewriter.h"
#include "graph/status.h"
#include "opr/table.h"
#include "quantization/layers.h"

namespace ashlar {
namespace {

constexpr int kMostExponent = 20;

int64_t ChannelsOf(const Shape& shape) { return shape.rank() >= 2 ? shape[1] : 0; }

// A group of tensors whose channels share one scale.
struct ScaleGroup {
  bool fixed = false;          // an operator before or after it cannot take scales
  std::vector<double> peaks;   // by channel, the largest values of the tensors
  std::vector<double> shares;  // by channel, the share of the weights that read it
  std::vector<double> scales;  // the result; empty if all scales are equal
};

class Equaliser {
 public:
  Equaliser(const Graph& graph, const ChannelPeaks& peaks)
      : graph_(graph), peaks_(peaks), group_of_(graph.vars().size()) {
    std::iota(group_of_.begin(), group_of_.end(), 0);
  }

  absl::StatusOr<EqualisedGraph> Run() && {
    for (const OperatorNode& node : graph_.nodes()) {
      if (!PassesScales(node)) continue;
      for (const size_t i : ComputedInputs(graph_, node)) Join(node.inputs[i], node.outputs[0]);
    }
    for (const OperatorNode& node : graph_.nodes()) Examine(node);
    int scaled = 0;
    for (auto& [root, group] : groups_) scaled += FindScales(group);
    ASHLAR_ASSIGN_OR_RETURN(Graph rewritten, Rewritten());
    return EqualisedGraph{std::move(rewritten), scaled};
  }

 private:
  int RootOf(int var) const {
    while (group_of_[static_cast<size_t>(var)] != var) var = group_of_[static_cast<size_t>(var)];
    return var;
  }
  void Join(int a, int b) { group_of_[static_cast<size_t>(RootOf(a))] = RootOf(b); }
  ScaleGroup& GroupOf(int var) { return groups_[RootOf(var)]; }

  bool PassesScales(const OperatorNode& node) const {
    if (node.op->role() != Role::kCompute || node.outputs.size() != 1 ||
        !node.op->KeepsChannelScales(graph_.SiteOf(node))) {
      return false;
    }
    const int64_t channels = ChannelsOf(graph_.var(node.outputs[0]).type.shape);
    const std::vector<size_t> inputs = ComputedInputs(graph_, node);
    return channels > 0 && std::all_of(inputs.begin(), inputs.end(), [&](size_t i) {
             return ChannelsOf(graph_.var(node.inputs[i]).type.shape) == channels;
           });
  }

  // Applies a node's constraints to the groups that it reads and writes.
  void Examine(const OperatorNode& node) {
    if (node.op->role() == Role::kConstant) return;
    const bool passes = PassesScales(node);
    for (const int output : node.outputs) {
      ScaleGroup& group = GroupOf(output);
      group.fixed = group.fixed || !(passes || TakesOutputScales(node));
      Raise(group.peaks, peaks_[static_cast<size_t>(output)]);
      group.fixed = group.fixed || peaks_[static_cast<size_t>(output)].empty();
    }
    const std::vector<size_t> computed = ComputedInputs(graph_, node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int var = node.inputs[i];
      if (passes && std::count(computed.begin(), computed.end(), i) > 0) continue;
      ScaleGroup& group = GroupOf(var);
      const std::vector<double> shares = i == 0 && node.op->role() == Role::kCompute
                                             ? node.op->ChannelShares(graph_.InputInfos(node))
                                             : std::vector<double>();
      if (static_cast<int64_t>(shares.size()) != ChannelsOf(graph_.var(var).type.shape) ||
          shares.empty()) {
        group.fixed = true;
      } else {
        Raise(group.shares, shares);
      }
    }
  }

  bool TakesOutputScales(const OperatorNode& node) const {
    if (node.op->role() != Role::kCompute || node.outputs.size() != 1) return false;
    const auto channels = static_cast<size_t>(ChannelsOf(graph_.var(node.outputs[0]).type.shape));
    const ChannelAffine doubled = {0, std::vector<double>(channels, 2),
                                   std::vector<double>(channels, 0)};
    return channels > 0 && !node.op->ChannelShares(graph_.InputInfos(node)).empty() &&
           node.op->AbsorbAffine(graph_.InputInfos(node), doubled).has_value();
  }

  template <typename T>
  static void Raise(std::vector<double>& most, const std::vector<T>& values) {
    if (most.size() < values.size()) most.resize(values.size(), 0);
    for (size_t c = 0; c < values.size(); ++c) most[c] = std::max<double>(most[c], values[c]);
  }

  // Finds the scales of a group: the tensor is multiplied by them, and its readers divide by them.
  static bool FindScales(ScaleGroup& group) {
    if (group.fixed || group.peaks.empty() || group.shares.size() != group.peaks.size()) {
      return false;
    }
    const bool alone = *std::max_element(group.shares.begin(), group.shares.end()) == 0;
    std::vector<double> wished(group.peaks.size(), 1);
    double largest = 0, after = 0;
    for (size_t c = 0; c < wished.size(); ++c) {
      const double peak = group.peaks[c],
                   share = alone ? 1 / std::max(peak, 1e-30) : group.shares[c];
      if (peak > 0 && share > 0) wished[c] = std::sqrt(share / peak);
      largest = std::max(largest, peak);
      after = std::max(after, peak * wished[c]);
    }
    if (largest == 0) return false;
    for (size_t c = 0; c < wished.size(); ++c) {
      const bool live = group.peaks[c] > 0;
      const double exponent = live ? std::round(std::log2(wished[c] * largest / after)) : 0;
      group.scales.push_back(
          std::exp2(std::clamp<double>(exponent, -kMostExponent, kMostExponent)));
    }
    const bool same = std::all_of(group.scales.begin(), group.scales.end(),
                                  [](double scale) { return scale == 1; });
    if (same) group.scales.clear();
    return !same;
  }

  absl::StatusOr<Graph> Rewritten() {
    GraphRewriter rewriter(graph_);
    for (const OperatorNode& node : graph_.nodes()) {
      const absl::Status added = Rewrite(node, rewriter);
      if (!added.ok()) return Annotate(added, Describe(node));
    }
    return std::move(rewriter).Finish();
  }

  absl::Status Rewrite(const OperatorNode& node, GraphRewriter& rewriter) {
    const bool weighs = node.op->role() == Role::kCompute && !PassesScales(node);
    const std::vector<double> none;
    const std::vector<double>& made =
        weighs && node.outputs.size() == 1 ? GroupOf(node.outputs[0]).scales : none;
    const std::vector<double>& read =
        weighs && !node.inputs.empty() ? GroupOf(node.inputs[0]).scales : none;
    if (made.empty() && read.empty()) return rewriter.Copy(node);
    OperatorPtr op = node.op;
    std::vector<int> inputs = rewriter.MapAll(node.inputs);
    const auto replace = [&](const std::optional<Replacement>& by) -> absl::Status {
      if (!by) return absl::InternalError("it takes no scales");
      std::vector<int> operands;
      for (const Operand& operand : by->operands) {
        if (operand.from != Operand::From::kConstant) {
          operands.push_back(inputs[static_cast<size_t>(operand.input)]);
          continue;
        }
        ASHLAR_ASSIGN_OR_RETURN(
            const std::vector<int> constant,
            rewriter.builder().Add(Operators().MakeConstant(operand.constant), {}));
        operands.push_back(constant[0]);
      }
      op = by->op;
      inputs = std::move(operands);
      return absl::OkStatus();
    };
    const auto infos = [&] {
      const Graph& graph = rewriter.builder().graph();
      std::vector<InputInfo> result;
      for (const int var : inputs) result.push_back({graph.var(var).type, graph.constant(var)});
      return result;
    };
    if (!made.empty()) {
      const ChannelAffine affine = {0, made, std::vector<double>(made.size(), 0)};
      ASHLAR_RETURN_IF_ERROR(replace(op->AbsorbAffine(infos(), affine)));
    }
    if (!read.empty()) {
      std::vector<double> inverse;
      for (const double scale : read) inverse.push_back(1 / scale);
      ASHLAR_RETURN_IF_ERROR(replace(op->AbsorbInputScales(infos(), inverse)));
    }
    return rewriter.Substitute(node, std::move(op), std::move(inputs));
  }

  const Graph& graph_;
  const ChannelPeaks& peaks_;
  std::vector<int> group_of_;  // by var, another var of its group, or itself
  std::map<int, ScaleGroup> groups_;
};

}  // namespace

absl::StatusOr<EqualisedGraph> EqualiseChannels(const Graph& graph, const ChannelPeaks& peaks) {
  return Equaliser(graph, peaks).Run();
}

}  // namespace ashlar
