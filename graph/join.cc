#include "graph/join.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/graph_builder.h"
#include "graph/status.h"

namespace ashlar {
namespace {

std::string Names(const std::vector<Binding>& bindings) {
  std::string names;
  for (const Binding& binding : bindings) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", "'", binding.name, "'");
  }
  return names;
}

std::vector<std::string> NamesIn(const std::vector<Binding>& bindings) {
  std::vector<std::string> names;
  for (const Binding& binding : bindings) names.push_back(binding.name);
  return names;
}

class Joiner {
 public:
  Joiner(const Graph& first, const Graph& second) : first_(first), second_(second) {}

  absl::StatusOr<Graph> Run(std::vector<JoinedInput>& inputs) && {
    const std::map<int, int> links =
        FindLinks(NamesIn(first_.outputs()), NamesIn(second_.inputs()));
    if (links.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("no output (", Names(first_.outputs()),
                                                     ") is an input of the next model (",
                                                     Names(second_.inputs()), ")"));
    }
    std::set<int> read;  // outputs of the first graph that the second reads
    for (const auto& [input, output] : links) read.insert(first_.outputs()[output].node);
    std::vector<int> first_vars(first_.vars().size(), -1), vars(second_.vars().size(), -1);
    for (size_t i = 0; i < first_.nodes().size(); ++i) {
      if (read.count(static_cast<int>(i)) != 0) continue;
      ASHLAR_RETURN_IF_ERROR(Copy(first_, first_.node(static_cast<int>(i)), first_vars));
    }
    for (const auto& [input, output] : links) {
      const int from = first_.outputs()[output].var, to = second_.inputs()[input].var;
      const TensorType& gives = first_.var(from).type;
      const TensorType& takes = second_.var(to).type;
      if (gives != takes) {
        return absl::InvalidArgumentError(absl::StrCat(
            "output '", first_.outputs()[output].name, "' is ", gives.ToString(), ", and input '",
            second_.inputs()[input].name, "' of the next model is ", takes.ToString()));
      }
      vars[to] = first_vars[from];
      skipped_.insert(second_.inputs()[input].node);
    }
    for (size_t i = 0; i < second_.nodes().size(); ++i) {
      if (skipped_.count(static_cast<int>(i)) != 0) continue;
      ASHLAR_RETURN_IF_ERROR(Copy(second_, second_.node(static_cast<int>(i)), vars));
    }
    ASHLAR_ASSIGN_OR_RETURN(Graph joined, std::move(builder_).Build());
    for (size_t i = 0; i < second_.inputs().size(); ++i) {
      JoinedInput& input = inputs.emplace_back();
      const auto link = links.find(static_cast<int>(i));
      if (link != links.end()) input.output = link->second;
      for (const Binding& own : joined.inputs()) {
        if (own.var == vars[second_.inputs()[i].var] && !input.output) input.name = own.name;
      }
    }
    return joined;
  }

 private:
  // Returns an unused name.
  std::string Free(const std::string& name, std::set<std::string>& taken) {
    std::string free = name;
    for (int i = 2; !free.empty() && !taken.insert(free).second; ++i) {
      free = absl::StrCat(name, ":", i);
    }
    return free;
  }

  absl::Status Copy(const Graph& from, const OperatorNode& node, std::vector<int>& vars) {
    GraphBuilder::NodeOptions options;
    options.name = Free(node.name, nodes_);
    if (!node.binding.empty()) {
      const bool input = node.op->role() == Role::kInput;
      options.binding = Free(node.binding, input ? inputs_ : outputs_);
    }
    options.priority = node.priority;
    for (const int output : node.outputs) {
      options.output_names.push_back(Free(from.var(output).name, vars_));
      options.output_formats.push_back(from.var(output).type.format);
    }
    std::vector<int> inputs;
    for (const int input : node.inputs) inputs.push_back(vars[input]);
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> outputs,
                            builder_.Add(node.op, std::move(inputs), std::move(options)));
    for (size_t i = 0; i < outputs.size(); ++i) vars[node.outputs[i]] = outputs[i];
    return absl::OkStatus();
  }

  const Graph& first_;
  const Graph& second_;
  GraphBuilder builder_;
  std::set<int> skipped_;  // inputs of the second graph that read the first
  std::set<std::string> nodes_, vars_, inputs_, outputs_;  // names in use
};

}  // namespace

std::map<int, int> FindLinks(const std::vector<std::string>& outputs,
                             const std::vector<std::string>& inputs) {
  std::map<int, int> links;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (outputs[o] == inputs[i]) links[static_cast<int>(i)] = static_cast<int>(o);
    }
  }
  if (links.empty() && outputs.size() == 1 && inputs.size() == 1) links[0] = 0;
  return links;
}

absl::StatusOr<Graph> Join(const Graph& first, const Graph& second,
                           std::vector<JoinedInput>* inputs) {
  std::vector<JoinedInput> unused;
  return Joiner(first, second).Run(inputs != nullptr ? *inputs : unused);
}

}  // namespace ashlar
