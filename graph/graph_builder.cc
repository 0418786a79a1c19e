#include "graph/graph_builder.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/naming.h"
#include "graph/status.h"

namespace ashlar {
GraphBuilder::GraphBuilder(CompNode comp_node, int next_id) : comp_node_(comp_node) {
  graph_.next_id_ = next_id;
}

absl::StatusOr<std::vector<int>> GraphBuilder::Add(OperatorPtr op, std::vector<int> inputs,
                                                   NodeOptions options) {
  OperatorNode node;
  node.op = std::move(op);
  node.id = options.id.value_or(graph_.next_id_);
  node.priority = options.priority;
  std::vector<std::string> input_names;
  std::vector<InputInfo> infos;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int input = inputs[i];
    if (input < 0 || input >= static_cast<int>(graph_.vars_.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat(node.op->type(), " ", node.id, ": input ", i, " is no var made before it"));
    }
    const Var& var = graph_.vars_[input];
    const HostTensor* value = graph_.constant(input);
    if (node.op->input_use(static_cast<int>(i)) == InputUse::kHostValue) {
      value = StaticValue(input);
      if (value != nullptr) graph_.host_values_.emplace(input, *value);
    } else if (options.name.empty()) {
      input_names.push_back(var.name);
    }
    infos.push_back({var.type, value});
  }
  node.name = options.name.empty() ? AutomaticName(*node.op, input_names, node.id) : options.name;
  node.inputs = std::move(inputs);

  absl::StatusOr<std::vector<TensorType>> types = node.op->Infer(infos);
  if (!types.ok()) return Annotate(types.status(), Describe(node, kLongestUncheckedName));
  if (!options.output_ids.empty() && options.output_ids.size() != types->size()) {
    return absl::InvalidArgumentError(absl::StrCat(Describe(node, kLongestUncheckedName), ": ",
                                                   options.output_ids.size(),
                                                   " output ids, expected ", types->size()));
  }
  graph_.next_id_ = std::max(graph_.next_id_, node.id + 1);
  const int node_index = static_cast<int>(graph_.nodes_.size());
  for (size_t i = 0; i < types->size(); ++i) {
    Var var;
    var.id = options.output_ids.empty() ? graph_.next_id_ : options.output_ids[i];
    graph_.next_id_ = std::max(graph_.next_id_, var.id + 1);
    var.type = (*types)[i];
    if (absl::Status status = Shape::Make(var.type.shape.dims()).status(); !status.ok()) {
      return Annotate(status, Describe(node, kLongestUncheckedName));
    }
    if (IsQuantized(var.type.dtype) == var.type.quantization.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(Describe(node, kLongestUncheckedName),
                                                     ": does not compute quantised tensors"));
    }
    if (i < options.output_formats.size()) var.type.format = options.output_formats[i];
    if (var.type.format != Format::kDefault && var.type.shape.rank() != 4) {
      return absl::InvalidArgumentError(absl::StrCat(Describe(node, kLongestUncheckedName),
                                                     ": output ", i, " is ", var.type.ToString(),
                                                     ", expected rank 4"));
    }
    if (i < options.output_names.size()) {
      var.name = options.output_names[i];
    } else if (types->size() > 1 && node.op->role() == Role::kCompute) {
      var.name = absl::StrCat(node.name, ":o", i);
    } else {
      var.name = node.name;
    }
    var.comp_node = comp_node_;
    var.producer = node_index;
    var.output_index = static_cast<int>(i);
    node.outputs.push_back(static_cast<int>(graph_.vars_.size()));
    graph_.vars_.push_back(std::move(var));
    graph_.readers_.emplace_back();
  }
  if (options.recorded_workspace) {
    node.recorded_workspace = options.recorded_workspace;
    int& id = node.recorded_workspace->id;
    if (id < 0) id = graph_.next_id_;
    graph_.next_id_ = std::max(graph_.next_id_, id + 1);
  }
  for (int input : node.inputs) {
    std::vector<int>& readers = graph_.readers_[input];
    if (readers.empty() || readers.back() != node_index) readers.push_back(node_index);
  }
  if (node.op->role() == Role::kConstant) {
    ASHLAR_ASSIGN_OR_RETURN(std::vector<HostTensor> value, node.op->Evaluate({}));
    node.constant = std::make_shared<const HostTensor>(std::move(value[0]));
  } else if (node.op->role() == Role::kInput) {
    node.binding = options.binding.empty() ? node.name : options.binding;
    graph_.inputs_.push_back({node.binding, node.outputs[0], node_index});
  } else if (node.op->role() == Role::kOutput) {
    const int value = node.inputs[0];
    node.binding = options.binding.empty() ? graph_.vars_[value].name : options.binding;
    graph_.outputs_.push_back({node.binding, value, node_index});
  }
  std::vector<int> outputs = node.outputs;
  graph_.nodes_.push_back(std::move(node));
  return outputs;
}

void GraphBuilder::TakeIdentity(int var, const Graph& other, int other_var) {
  const Var& from = other.var(other_var);
  Var& to = graph_.vars_[var];
  to.id = from.id;
  to.name = from.name;
  graph_.next_id_ = std::max(graph_.next_id_, from.id + 1);
  const OperatorNode& maker = other.node(from.producer);
  OperatorNode& node = graph_.nodes_[to.producer];
  if (maker.outputs.size() != 1 || node.outputs.size() != 1) return;
  node.id = maker.id;
  node.name = maker.name;
  node.priority = maker.priority;
}

void GraphBuilder::OrderBindingsAs(const Graph& other) {
  const auto order = [](std::vector<Binding>& bindings, const std::vector<Binding>& as) {
    absl::flat_hash_map<absl::string_view, size_t> places;
    for (const Binding& binding : as) places.emplace(binding.name, places.size());
    const auto place = [&](const Binding& binding) {
      const auto found = places.find(binding.name);
      return found != places.end() ? found->second : places.size();
    };
    std::stable_sort(bindings.begin(), bindings.end(),
                     [&](const Binding& a, const Binding& b) { return place(a) < place(b); });
  };
  order(graph_.inputs_, other.inputs());
  order(graph_.outputs_, other.outputs());
}

absl::StatusOr<Graph> GraphBuilder::Build() && {
  if (graph_.outputs_.empty()) {
    return absl::InvalidArgumentError("the graph has no output (no OutputCallback)");
  }
  absl::flat_hash_set<int> ids;
  ids.reserve(graph_.nodes_.size() + graph_.vars_.size());
  for (const OperatorNode& node : graph_.nodes_) {
    if (!ids.insert(node.id).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(Describe(node, kLongestUncheckedName), ": id used twice"));
    }
    if (node.recorded_workspace && !ids.insert(node.recorded_workspace->id).second) {
      return absl::InvalidArgumentError(absl::StrCat(Describe(node, kLongestUncheckedName),
                                                     ": the id ", node.recorded_workspace->id,
                                                     " of its workspace is used twice"));
    }
  }
  for (const Var& var : graph_.vars_) {
    if (!ids.insert(var.id).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("var ", var.name.substr(0, 200), ": id ", var.id, " used twice"));
    }
  }
  for (const std::vector<Binding>* bindings : {&graph_.inputs_, &graph_.outputs_}) {
    absl::flat_hash_set<absl::string_view> names;
    for (const Binding& binding : *bindings) {
      if (names.insert(binding.name).second) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("two ", bindings == &graph_.inputs_ ? "inputs" : "outputs", " are named '",
                       binding.name.substr(0, 200), "'"));
    }
  }
  return std::move(graph_);
}

}  // namespace ashlar
