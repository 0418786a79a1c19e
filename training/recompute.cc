#include "training/recompute.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/passes/pass.h"
#include "graph/recompute_order.h"
#include "graph/status.h"
#include "opr/batch_norm_training.h"
#include "training/live_bytes.h"

namespace ashlar {
namespace {

absl::Status Select(const Graph& graph, int loss, absl::Span<const int> nodes, bool made,
                    const PartsOfNodes& parts, MadeAgain& again) {
  const std::vector<bool> towards = NodesTowards(graph, loss);
  for (const int id : nodes) {
    bool found = false;
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
      const OperatorNode& node = graph.node(static_cast<int>(n));
      if (!towards[n] || IdOfWhole(node, parts) != id || !CanMakeAgain(graph, node.outputs[0])) {
        continue;
      }
      again[static_cast<size_t>(node.outputs[0])] = made;
      found = true;
    }
    if (found) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "recompute: ", id, " is no node on the way to the loss that can be made again"));
  }
  return absl::OkStatus();
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
    if (IsHandedOn(node, parts)) again[static_cast<size_t>(node.outputs[0])] = false;
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
  for (const int node : nodes) parts.push_back(absl::StrCat(node));
  for (const int node : kept) parts.push_back(absl::StrCat("-", node));
  return absl::StrJoin(parts, ",");
}

absl::StatusOr<RecomputeSpec> ParseRecompute(absl::string_view text) {
  RecomputeSpec spec;
  if (text == "none") return spec;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    int node = 0;
    if (part == "cheap") {
      spec.cheap = true;
    } else if (absl::string_view id = part;
               absl::SimpleAtoi(part, &node) && node > std::numeric_limits<int>::min()) {
      (absl::ConsumePrefix(&id, "-") ? spec.kept : spec.nodes).push_back(std::abs(node));
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", text.substr(0, 200),
          "': expected none, cheap or a list of cheap and ids of nodes, -ID for one that is kept"));
    }
  }
  return spec;
}

absl::StatusOr<Graph> RecomputeStep(const Graph& step, const RecomputeSpec& spec,
                                    const PartsOfNodes& parts) {
  if (spec.empty()) return step;
  ASHLAR_ASSIGN_OR_RETURN(const Graph graph, NormsInHalves(step));
  const int loss = graph.outputs()[0].var;
  MadeAgain again(graph.vars().size(), false);
  if (spec.cheap) again = CheapInStep(graph, loss, parts);
  ASHLAR_RETURN_IF_ERROR(Select(graph, loss, spec.nodes, true, parts, again));
  ASHLAR_RETURN_IF_ERROR(Select(graph, loss, spec.kept, false, parts, again));
  OrderMaker maker(graph, loss);
  LiveBytes live(graph, maker);
  return Recompute(graph, loss, again, FindReach(maker, live, again).reach);
}

}  // namespace ashlar
