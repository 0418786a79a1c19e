#include "training/recompute.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/passes/pass.h"
#include "graph/recompute.h"
#include "graph/recompute_order.h"
#include "graph/status.h"
#include "opr/batch_norm_training.h"
#include "training/live_bytes.h"

namespace ashlar {
namespace {

// Sets how many times the outputs of a node are recomputed.
absl::Status Select(const Graph& graph, int loss, const RecomputeSpec::Node& selected,
                    const PartsOfNodes& parts, MadeAgain& again) {
  const std::vector<bool> towards = NodesTowards(graph, loss);
  bool found = false;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const OperatorNode& node = graph.node(static_cast<int>(n));
    if (!towards[n] || IdOfWhole(node, parts) != selected.id ||
        !CanMakeAgain(graph, node.outputs[0])) {
      continue;
    }
    const bool once = selected.times == kAnew && !IsCheap(graph, node.outputs[0]);
    again[static_cast<size_t>(node.outputs[0])] = once ? kOnce : selected.times;
    found = true;
  }
  if (found) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "recompute: ", selected.id, " is not a node on the way to the loss that can be recomputed"));
}

}  // namespace

bool IsHandedOn(const OperatorNode& node, const PartsOfNodes& parts) {
  const auto part = parts.find(node.id);
  return part != parts.end() && part->second == kHandedOn;
}

int IdOfWhole(const OperatorNode& node, const PartsOfNodes& parts) {
  const auto part = parts.find(node.id);
  return part == parts.end() || IsHandedOn(node, parts) ? node.id : part->second;
}

MadeAgain CheapInStep(const Graph& graph, int loss, const PartsOfNodes& parts) {
  MadeAgain again = CheapToMakeAgain(graph, loss);
  for (const OperatorNode& node : graph.nodes()) {
    if (IsHandedOn(node, parts)) again[static_cast<size_t>(node.outputs[0])] = kKept;
  }
  return again;
}

absl::StatusOr<Graph> NormsInHalves(const Graph& step) {
  return Compose(step, [](const Operator& op) { return op.type() != BatchNormTraining::kType; });
}

std::string RecomputeSpec::ToString() const {
  if (empty()) return "none";
  std::vector<std::string> parts;
  if (cheap) parts.push_back("cheap");
  for (const Node& node : nodes) {
    parts.push_back(node.times == kAnew ? absl::StrCat(node.id)
                                        : absl::StrCat(node.id, ":", node.times));
  }
  for (const int node : kept) parts.push_back(absl::StrCat("-", node));
  return absl::StrJoin(parts, ",");
}

absl::StatusOr<RecomputeSpec> ParseRecompute(absl::string_view text) {
  RecomputeSpec spec;
  if (text == "none") return spec;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> of_node = absl::StrSplit(part, ':');
    int id = 0, times = kAnew;
    if (part == "cheap") {
      spec.cheap = true;
    } else if (absl::SimpleAtoi(of_node[0], &id) && id > std::numeric_limits<int>::min() &&
               (of_node.size() == 1 ||
                (of_node.size() == 2 && part[0] != '-' && absl::SimpleAtoi(of_node[1], &times) &&
                 times >= kOnce && times < kAnew))) {
      if (part[0] == '-') {
        spec.kept.push_back(-id);
      } else {
        spec.nodes.push_back({id, static_cast<uint8_t>(times)});
      }
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text.substr(0, 200),
                       "': expected none, cheap or a list of cheap and ids of nodes, ID:N to "
                       "recompute it N times, -ID to keep it"));
    }
  }
  return spec;
}

absl::StatusOr<Graph> RecomputeStep(const Graph& step, const RecomputeSpec& spec,
                                    const PartsOfNodes& parts) {
  if (spec.empty()) return step;
  ASHLAR_ASSIGN_OR_RETURN(const Graph graph, NormsInHalves(step));
  const int loss = graph.outputs()[0].var;
  MadeAgain again(graph.vars().size(), kKept);
  if (spec.cheap) again = CheapInStep(graph, loss, parts);
  for (const RecomputeSpec::Node& node : spec.nodes) {
    ASHLAR_RETURN_IF_ERROR(Select(graph, loss, node, parts, again));
  }
  for (const int id : spec.kept) {
    ASHLAR_RETURN_IF_ERROR(Select(graph, loss, {id, kKept}, parts, again));
  }
  OrderMaker maker(graph, loss);
  LiveBytes live(graph, maker);
  return Recompute(graph, loss, again, FindReach(maker, live, again).reach);
}

}  // namespace ashlar
