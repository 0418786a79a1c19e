#include "graph/join.h"

#include <algorithm>
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

// Returns the binding with this name, or null.
const Binding* Named(const std::vector<Binding>& bindings, const std::string& name) {
  const auto found = std::find_if(bindings.begin(), bindings.end(),
                                  [&](const Binding& one) { return one.name == name; });
  return found != bindings.end() ? &*found : nullptr;
}

class Joiner {
 public:
  Joiner(const Graph& first, const Graph& second) : first_{first}, second_{second} {
    first_.vars.assign(first.vars().size(), -1);
    second_.vars.assign(second.vars().size(), -1);
  }

  absl::StatusOr<Graph> Run(std::vector<JoinedInput>& inputs) && {
    const std::vector<Binding>& outputs = first_.graph.outputs();
    links_ = FindLinks(NamesIn(outputs), NamesIn(second_.graph.inputs()));
    if (links_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("no output (", Names(outputs),
                                                     ") is an input of the next model (",
                                                     Names(second_.graph.inputs()), ")"));
    }
    for (const auto& [input, output] : links_) {
      first_.copied.insert(outputs[static_cast<size_t>(output)].node);  // it is read instead
    }
    const std::vector<Place> last = OutputsInOrder();
    for (const Place& input : InputsInOrder()) {
      ASHLAR_RETURN_IF_ERROR(Copy(*input.part, input.node));
    }
    for (const Place& output : last) output.part->copied.insert(output.node);
    ASHLAR_RETURN_IF_ERROR(CopyAll(first_));
    for (const auto& [input, output] : links_) {
      const Binding& from = outputs[static_cast<size_t>(output)];
      const Binding& to = second_.graph.inputs()[static_cast<size_t>(input)];
      const TensorType& gives = first_.graph.var(from.var).type;
      const TensorType& takes = second_.graph.var(to.var).type;
      if (gives != takes) {
        return absl::InvalidArgumentError(
            absl::StrCat("output '", from.name, "' is ", gives.ToString(), ", and input '", to.name,
                         "' of the next model is ", takes.ToString()));
      }
      second_.vars[static_cast<size_t>(to.var)] = first_.vars[static_cast<size_t>(from.var)];
      second_.copied.insert(to.node);
    }
    ASHLAR_RETURN_IF_ERROR(CopyAll(second_));
    for (const Place& output : last) ASHLAR_RETURN_IF_ERROR(Copy(*output.part, output.node));
    ASHLAR_ASSIGN_OR_RETURN(Graph joined, std::move(builder_).Build());
    for (size_t i = 0; i < second_.graph.inputs().size(); ++i) {
      JoinedInput& input = inputs.emplace_back();
      const auto link = links_.find(static_cast<int>(i));
      if (link != links_.end()) input.output = link->second;
      const int var = second_.vars[static_cast<size_t>(second_.graph.inputs()[i].var)];
      for (const Binding& own : joined.inputs()) {
        if (own.var == var && !input.output) input.name = own.name;
      }
    }
    return joined;
  }

 private:
  struct Part {
    const Graph& graph;
    std::vector<int> vars = {};  // in the joined graph; -1: not yet
    std::set<int> copied = {};   // nodes that are there, or need not be
  };
  struct Place {
    Part* part;
    int node;
  };

  // If each input of the first graph replaces the one of its name that reads it: all inputs, in the
  // second's order. Otherwise none.
  std::vector<Place> InputsInOrder() {
    std::vector<Place> places;
    size_t replaced = 0;
    for (size_t i = 0; i < second_.graph.inputs().size(); ++i) {
      const Binding& input = second_.graph.inputs()[i];
      if (!links_.contains(static_cast<int>(i))) {
        places.push_back({&second_, input.node});
      } else if (const Binding* given = Named(first_.graph.inputs(), input.name)) {
        places.push_back({&first_, given->node});
        ++replaced;
      }
    }
    return replaced == first_.graph.inputs().size() ? places : std::vector<Place>();
  }
  // If each output of the second graph replaces the one of its name that it reads: all outputs, in
  // the first's order. Otherwise none.
  std::vector<Place> OutputsInOrder() {
    std::vector<Place> places;
    size_t replaced = 0;
    for (const Binding& output : first_.graph.outputs()) {
      if (!first_.copied.contains(output.node)) {
        places.push_back({&first_, output.node});
      } else if (const Binding* made = Named(second_.graph.outputs(), output.name)) {
        places.push_back({&second_, made->node});
        ++replaced;
      }
    }
    return replaced == second_.graph.outputs().size() ? places : std::vector<Place>();
  }

  absl::Status CopyAll(Part& part) {
    for (size_t i = 0; i < part.graph.nodes().size(); ++i) {
      const int node = static_cast<int>(i);
      if (!part.copied.contains(node)) ASHLAR_RETURN_IF_ERROR(Copy(part, node));
    }
    return absl::OkStatus();
  }

  // Returns an unused name.
  std::string Free(const std::string& name, std::set<std::string>& taken) {
    std::string free = name;
    for (int i = 2; !free.empty() && !taken.insert(free).second; ++i) {
      free = absl::StrCat(name, ":", i);
    }
    return free;
  }

  absl::Status Copy(Part& part, int index) {
    part.copied.insert(index);
    const OperatorNode& node = part.graph.node(index);
    GraphBuilder::NodeOptions options;
    options.name = Free(node.name, nodes_);
    if (!node.binding.empty()) {
      const bool input = node.op->role() == Role::kInput;
      options.binding = Free(node.binding, input ? inputs_ : outputs_);
    }
    options.priority = node.priority;
    for (const int output : node.outputs) {
      options.output_names.push_back(Free(part.graph.var(output).name, vars_));
      options.output_formats.push_back(part.graph.var(output).type.format);
    }
    std::vector<int> inputs;
    for (const int input : node.inputs) inputs.push_back(part.vars[static_cast<size_t>(input)]);
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> outputs,
                            builder_.Add(node.op, std::move(inputs), std::move(options)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      part.vars[static_cast<size_t>(node.outputs[i])] = outputs[i];
    }
    return absl::OkStatus();
  }

  Part first_, second_;
  std::map<int, int> links_;
  GraphBuilder builder_;
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
