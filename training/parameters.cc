#include "training/parameters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/graph_builder.h"
#include "graph/status.h"
#include "opr/batch_norm.h"
#include "opr/table.h"
#include "training/weight_inputs.h"

namespace ashlar {
namespace {

class Finder {
 public:
  Finder(const Graph& graph, std::optional<std::regex> frozen, bool batch_statistics)
      : graph_(graph), frozen_(std::move(frozen)), batch_statistics_(batch_statistics) {}

  Parameters Find() {
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      const int index = static_cast<int>(n);
      const OperatorNode& node = graph_.node(index);
      if (node.op->type() == BatchNorm::kType) {
        AddNorm(index);
        continue;
      }
      for (const int input : WeightInputs(graph_, node)) {
        if (input >= static_cast<int>(node.inputs.size())) continue;
        const int var = MovedFrom(graph_, node.inputs[input]);
        if (seen_.insert(var).second && Learns(var)) Add(var, true);
      }
    }
    return std::move(found_);
  }
  // After Find: whether the expression matches a weight, and the names of all weights.
  bool freezes() const { return freezes_; }
  const std::vector<std::string>& names_of_weights() const { return names_of_weights_; }

 private:
  // Whether a var is a weight that is not frozen.
  bool Learns(int var) {
    if (!IsWeight(graph_, var)) return false;
    names_of_weights_.push_back(NameOf(var));
    if (!frozen_) return true;
    const bool matches = std::regex_search(graph_.node(graph_.var(var).producer).name, *frozen_) ||
                         std::regex_search(NameOf(var), *frozen_);
    freezes_ = freezes_ || matches;
    return !matches;
  }

  // Returns the name of a constant, made unique among all states: the optimizer's and sums of
  // gradients have the parameter's name and an ending.
  const std::string& NameOf(int var) {
    constexpr absl::string_view kEndings[] = {"", ".momentum", ".adam_mean", ".adam_square",
                                              ".gradient"};
    const auto [it, added] = name_of_.try_emplace(var);
    if (!added) return it->second;
    const auto is_taken = [&](const std::string& name) {
      return std::any_of(std::begin(kEndings), std::end(kEndings), [&](absl::string_view ending) {
        return names_.contains(absl::StrCat(name, ending));
      });
    };
    const std::string& name = graph_.node(graph_.var(var).producer).name;
    it->second = name;
    for (int i = 2; is_taken(it->second); ++i) it->second = absl::StrCat(name, "#", i);
    for (const absl::string_view ending : kEndings) {
      names_.insert(absl::StrCat(it->second, ending));
    }
    return it->second;
  }

  int Add(int var, bool learns) {
    found_.all.push_back({NameOf(var), var, learns});
    return static_cast<int>(found_.all.size()) - 1;
  }

  void AddNorm(int index) {
    const std::vector<int>& inputs = graph_.node(index).inputs;
    const bool scale = Learns(inputs[BatchNorm::kScale]), bias = Learns(inputs[BatchNorm::kBias]);
    if (scale) Add(inputs[BatchNorm::kScale], true);
    if (bias) Add(inputs[BatchNorm::kBias], true);
    const bool known = IsWeight(graph_, inputs[BatchNorm::kMean]) &&
                       IsWeight(graph_, inputs[BatchNorm::kVariance]);
    if (!batch_statistics_ || !(scale || bias) || !known) return;
    BatchStatistics norm{index};
    norm.mean = Add(inputs[BatchNorm::kMean], false);
    norm.variance = Add(inputs[BatchNorm::kVariance], false);
    found_.norms.push_back(norm);
  }

  const Graph& graph_;
  const std::optional<std::regex> frozen_;
  const bool batch_statistics_;
  Parameters found_;
  std::set<int> seen_;
  std::map<int, std::string> name_of_;  // by var
  absl::flat_hash_set<std::string> names_;
  std::vector<std::string> names_of_weights_;
  bool freezes_ = false;
};

// Lists the first names, cut if they are long, because they come from files.
std::string DescribeNames(const std::vector<std::string>& names) {
  constexpr size_t kMost = 20;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    shown.push_back(names[i].substr(0, kLongestUncheckedName));
  }
  const std::string text = absl::StrJoin(shown, ", ");
  if (names.size() <= kMost) return text;
  return absl::StrCat(text, " and ", names.size() - kMost, " more");
}

// The standard library throws if the expression is malformed.
absl::StatusOr<std::optional<std::regex>> ParseExpression(const std::string& text) {
  if (text.empty()) return std::optional<std::regex>();
  try {
    return std::optional<std::regex>(std::regex(text, std::regex::ECMAScript));
  } catch (const std::regex_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text.substr(0, 200), "' is no regular expression: ", error.what()));
  }
}

}  // namespace

absl::StatusOr<Parameters> FindParameters(const Graph& model, const ParameterOptions& options) {
  ASHLAR_ASSIGN_OR_RETURN(std::optional<std::regex> frozen, ParseExpression(options.freeze));
  Finder finder(model, frozen, options.batch_statistics);
  Parameters found = finder.Find();
  if (frozen && !finder.freezes() && !found.all.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", options.freeze, "' freezes nothing: no weight has a name that matches; ",
                     "the weights are ", DescribeNames(finder.names_of_weights())));
  }
  const bool learns = std::any_of(found.all.begin(), found.all.end(),
                                  [](const Parameter& parameter) { return parameter.learns; });
  if (learns) return found;
  return absl::InvalidArgumentError(absl::StrCat(
      "nothing learns: no constant of Float32 that a convolution, a product or a norm reads",
      options.freeze.empty() ? "" : absl::StrCat(" and '", options.freeze, "' does not freeze")));
}

absl::StatusOr<Parameters> InTiles(const Parameters& parameters, const Graph& model,
                                   const Graph& tiled, const PartsOfNodes& parts) {
  std::map<int, std::vector<int>> by_id;  // tiled nodes, by id of the model's node
  for (size_t n = 0; n < tiled.nodes().size(); ++n) {
    const int id = tiled.node(static_cast<int>(n)).id;
    const auto part = parts.find(id);
    by_id[part == parts.end() ? id : part->second].push_back(static_cast<int>(n));
  }
  const auto nodes_of = [&](int node) { return by_id[model.node(node).id]; };
  Parameters in_tiles = parameters;
  for (Parameter& parameter : in_tiles.all) {
    const std::vector<int> makers = nodes_of(model.var(parameter.var).producer);
    if (!makers.empty()) parameter.var = tiled.node(makers[0]).outputs[0];
  }
  for (BatchStatistics& norm : in_tiles.norms) {
    const std::vector<int> found = nodes_of(norm.node);
    if (found.size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("tiles: ", Describe(model.node(norm.node), kLongestUncheckedName),
                       " normalises by the statistics of the whole batch"));
    }
    norm.node = found[0];
  }
  return in_tiles;
}

absl::Status CopyWith(const Parameters& parameters, const MakeParameter& make,
                      const Instead& instead, GraphRewriter& rewriter, std::vector<int>& vars) {
  const Graph& model = rewriter.source();
  std::map<int, int> of_var;  // by constant
  for (size_t i = 0; i < parameters.all.size(); ++i) {
    of_var[parameters.all[i].var] = static_cast<int>(i);
  }
  vars.assign(parameters.all.size(), -1);
  for (size_t n = 0; n < model.nodes().size(); ++n) {
    const int index = static_cast<int>(n);
    const OperatorNode& node = model.node(index);
    if (node.op->role() == Role::kConstant) {
      if (const auto it = of_var.find(node.outputs[0]); it != of_var.end()) {
        GraphBuilder::NodeOptions identity = rewriter.Identity(node);
        identity.name = parameters.all[it->second].name;
        identity.output_names = {identity.name};
        ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                                rewriter.builder().Add(make(it->second), {}, std::move(identity)));
        vars[it->second] = made[0];
        rewriter.Replace(node.outputs[0], made[0]);
        continue;
      }
    }
    std::vector<int> inputs = rewriter.MapAll(node.inputs);
    if (instead) {
      ASHLAR_ASSIGN_OR_RETURN(const bool done, instead(index, inputs));
      if (done) continue;
    }
    ASHLAR_RETURN_IF_ERROR(rewriter.Substitute(node, node.op, std::move(inputs)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Graph> WithValues(const Graph& model, const Parameters& parameters,
                                 const std::vector<HostTensor>& values) {
  GraphRewriter rewriter(model);
  std::vector<int> vars;
  const auto make = [&](int parameter) { return Operators().MakeConstant(values[parameter]); };
  ASHLAR_RETURN_IF_ERROR(CopyWith(parameters, make, nullptr, rewriter, vars));
  return std::move(rewriter).Finish();
}

}  // namespace ashlar
