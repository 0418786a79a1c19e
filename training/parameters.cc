#include "training/parameters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/graph_builder.h"
#include "graph/status.h"
#include "opr/batch_norm.h"
#include "opr/elemwise.h"
#include "opr/table.h"

namespace ashlar {
namespace {

// The inputs of an operator that hold learned values.
struct WeightRow {
  absl::string_view type;
  std::vector<int> inputs;
};

const std::vector<WeightRow>& WeightRows() {
  static const auto* const rows = new std::vector<WeightRow>{
      {"ConvolutionForward", {1}},
      {"ConvBiasForward", {1, 2}},
      {"Convolution3DForward", {1, 2}},
      {"ConvolutionBackwardData", {1}},
      {"MatrixMul", {0, 1}},
      {"LayerNorm", {1, 2}},
      {"BatchNorm", {1, 2}},
  };
  return *rows;
}

const WeightRow* RowOfWeights(absl::string_view type) {
  for (const WeightRow& row : WeightRows()) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

// Follows operators that only move elements back to the var with the original elements.
int MovedFrom(const Graph& graph, int var) {
  while (true) {
    const OperatorNode& node = graph.node(graph.var(var).producer);
    if (node.op->role() != Role::kCompute || node.outputs.size() != 1) return var;
    if (!node.op->storage_rules(graph.SiteOf(node)).moves) return var;
    var = node.inputs[0];
  }
}

// Whether a node adds a bias: one addend is the output of an operator with weights.
bool AddsBias(const Graph& graph, const OperatorNode& node) {
  if (node.op->type() != Elemwise::kType || node.inputs.size() != 2) return false;
  if (static_cast<const Elemwise&>(*node.op).param().mode != ScalarFunction::kAdd) return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](int input) {
    const OperatorNode& maker = graph.node(graph.var(MovedFrom(graph, input)).producer);
    return RowOfWeights(maker.op->type()) != nullptr;
  });
}

// Returns the inputs of a node that hold weights.
std::vector<int> WeightInputs(const Graph& graph, const OperatorNode& node) {
  if (const WeightRow* const row = RowOfWeights(node.op->type())) return row->inputs;
  if (AddsBias(graph, node)) return {0, 1};
  return {};
}

class Finder {
 public:
  Finder(const Graph& graph, std::optional<std::regex> frozen, bool batch_statistics)
      : graph_(graph), frozen_(std::move(frozen)), batch_statistics_(batch_statistics) {}

  Parameters Find() && {
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
        if (Learns(var) && seen_.insert(var).second) Add(var, true);
      }
    }
    return std::move(found_);
  }

 private:
  bool IsWeight(int var) const {
    const HostTensor* const value = graph_.constant(var);
    if (value == nullptr || !value->has_data() || value->dtype() != DType::kFloat32) return false;
    return !graph_.HasHostReader(var);  // a value needed before the run cannot be a state
  }
  bool Learns(int var) const {
    return IsWeight(var) &&
           !(frozen_ && std::regex_search(graph_.node(graph_.var(var).producer).name, *frozen_));
  }

  int Add(int var, bool learns, int reader = -1, int input = -1) {
    const std::string& name = graph_.node(graph_.var(var).producer).name;
    Parameter parameter{name, var, learns, {}, input};
    if (reader >= 0) parameter.readers = {reader};
    for (int i = 2; !names_.insert(parameter.name).second; ++i) {
      parameter.name = absl::StrCat(name, "#", i);
    }
    found_.all.push_back(std::move(parameter));
    return static_cast<int>(found_.all.size()) - 1;
  }

  void AddNorm(int index) {
    const std::vector<int>& inputs = graph_.node(index).inputs;
    const auto add = [&](int input, bool learns) {
      const int var = inputs[input];
      const bool alone =
          graph_.readers(var).size() == 1 && std::count(inputs.begin(), inputs.end(), var) == 1;
      return alone ? Add(var, learns) : Add(var, learns, index, input);
    };
    const bool scale = Learns(inputs[BatchNorm::kScale]), bias = Learns(inputs[BatchNorm::kBias]);
    if (scale) add(BatchNorm::kScale, true);
    if (bias) add(BatchNorm::kBias, true);
    const bool known = IsWeight(inputs[BatchNorm::kMean]) && IsWeight(inputs[BatchNorm::kVariance]);
    if (!batch_statistics_ || !scale || !bias || !known) return;
    BatchStatistics norm{index};
    norm.mean = add(BatchNorm::kMean, false);
    norm.variance = add(BatchNorm::kVariance, false);
    found_.norms.push_back(norm);
  }

  const Graph& graph_;
  const std::optional<std::regex> frozen_;
  const bool batch_statistics_;
  Parameters found_;
  std::set<int> seen_;
  absl::flat_hash_set<std::string> names_;
};

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
  const auto& nodes = model.nodes();
  if (frozen && std::none_of(nodes.begin(), nodes.end(), [&](const OperatorNode& node) {
        return node.op->role() == Role::kConstant && std::regex_search(node.name, *frozen);
      })) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", options.freeze, "' freezes nothing: no constant has a name that matches"));
  }
  Parameters found = Finder(model, std::move(frozen), options.batch_statistics).Find();
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
    if (!parameter.readers.empty()) parameter.readers = nodes_of(parameter.readers[0]);
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
  std::map<int, int> of_var;  // by constant, if all its readers share the parameter
  std::map<std::pair<int, int>, int> of_reader;  // by node and input
  for (size_t i = 0; i < parameters.all.size(); ++i) {
    const Parameter& parameter = parameters.all[i];
    if (parameter.readers.empty()) of_var[parameter.var] = static_cast<int>(i);
    for (const int reader : parameter.readers) {
      of_reader[{reader, parameter.input}] = static_cast<int>(i);
    }
  }
  vars.assign(parameters.all.size(), -1);
  const auto add = [&](int parameter, GraphBuilder::NodeOptions options) -> absl::Status {
    options.name = parameters.all[parameter].name;
    options.output_names = {options.name};
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                            rewriter.builder().Add(make(parameter), {}, std::move(options)));
    vars[parameter] = made[0];
    return absl::OkStatus();
  };
  for (size_t n = 0; n < model.nodes().size(); ++n) {
    const int index = static_cast<int>(n);
    const OperatorNode& node = model.node(index);
    if (node.op->role() == Role::kConstant) {
      if (const auto it = of_var.find(node.outputs[0]); it != of_var.end()) {
        ASHLAR_RETURN_IF_ERROR(add(it->second, rewriter.Identity(node)));
        rewriter.Replace(node.outputs[0], vars[it->second]);
        continue;
      }
    }
    std::vector<int> inputs = rewriter.MapAll(node.inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto it = of_reader.find({index, static_cast<int>(i)});
      if (it == of_reader.end()) continue;
      if (vars[it->second] < 0) ASHLAR_RETURN_IF_ERROR(add(it->second, {}));
      inputs[i] = vars[it->second];
    }
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
