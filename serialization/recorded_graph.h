// Vars and operators that a reader of foreign models records, and the graph of the needed ones.
// Constants enter the graph when their first reader does; vars that no output needs, never.
#ifndef ASHLAR_SERIALIZATION_RECORDED_GRAPH_H_
#define ASHLAR_SERIALIZATION_RECORDED_GRAPH_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graph/graph_builder.h"
#include "graph/status.h"
#include "opr/host_io.h"
#include "opr/table.h"

namespace ashlar {

// A name for the caller, and what it is.
template <typename Id>
struct RecordedOutput {
  std::string name;
  Id var;
  OutputParam param = {};
};

// Id is an enumeration of vars, numbered from 0.
template <typename Id>
class RecordedGraph {
 public:
  // An input unless it is a constant, or an operator makes it; absent vars enter no graph.
  struct Var {
    TensorType type;
    std::string name = {};
    std::optional<HostTensor> constant = std::nullopt;
    int op = -1;  // index of the operator that makes it
    bool absent = false;
  };
  struct Op {
    std::string name;
    OperatorPtr op;
    std::vector<Id> inputs, outputs;
  };

  Id Add(Var var) {
    vars_.push_back(std::move(var));
    return static_cast<Id>(vars_.size() - 1);
  }
  // Adds an operator whose outputs have these types, and returns them.
  const std::vector<Id>& Add(std::string name, OperatorPtr op, std::vector<Id> inputs,
                             const std::vector<TensorType>& types) {
    Op added = {std::move(name), std::move(op), std::move(inputs), {}};
    for (const TensorType& type : types) {
      added.outputs.push_back(Add({type, "", std::nullopt, static_cast<int>(ops_.size())}));
    }
    ops_.push_back(std::move(added));
    return ops_.back().outputs;
  }

  Var& at(Id var) { return vars_[static_cast<size_t>(var)]; }
  const Var& at(Id var) const { return vars_[static_cast<size_t>(var)]; }
  bool IsInput(Id var) const { return at(var).op < 0 && !at(var).constant && !at(var).absent; }
  // Returns null unless an operator makes the var.
  const Op* producer(Id var) const {
    return at(var).op >= 0 ? &ops_[static_cast<size_t>(at(var).op)] : nullptr;
  }

  // Returns the graph of all inputs and all operators that these outputs need. Names are unique.
  absl::StatusOr<Graph> Build(const std::vector<RecordedOutput<Id>>& outputs) &&;

 private:
  std::vector<bool> Needed(const std::vector<RecordedOutput<Id>>& outputs) const;

  std::deque<Var> vars_;  // references stay valid
  std::vector<Op> ops_;   // producers first
};

template <typename Id>
std::vector<bool> RecordedGraph<Id>::Needed(const std::vector<RecordedOutput<Id>>& outputs) const {
  std::vector<bool> needed(ops_.size(), false);
  const auto need = [&](Id var) {
    if (at(var).op >= 0) needed[static_cast<size_t>(at(var).op)] = true;
  };
  for (const RecordedOutput<Id>& output : outputs) need(output.var);
  for (size_t i = ops_.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Id input : ops_[i].inputs) need(input);
  }
  return needed;
}

template <typename Id>
absl::StatusOr<Graph> RecordedGraph<Id>::Build(const std::vector<RecordedOutput<Id>>& outputs) && {
  GraphBuilder builder;
  std::vector<int> built(vars_.size(), -1);  // vars of the graph
  const auto add = [&](OperatorPtr op, std::vector<int> inputs, const std::string& name,
                       const std::string& binding = "") -> absl::StatusOr<int> {
    GraphBuilder::NodeOptions options;
    options.name = name;
    options.binding = binding;
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                            builder.Add(std::move(op), std::move(inputs), options));
    return made[0];
  };
  for (size_t i = 0; i < vars_.size(); ++i) {
    if (!IsInput(static_cast<Id>(i))) continue;
    const Var& var = vars_[i];
    InputParam param = {var.type.dtype,
                        {var.type.shape.dims().begin(), var.type.shape.dims().end()}};
    ASHLAR_ASSIGN_OR_RETURN(
        built[i], add(std::make_shared<const Host2DeviceCopy>(std::move(param)), {}, var.name));
  }
  const auto get = [&](Id id) -> absl::StatusOr<int> {
    Var& var = at(id);
    int& place = built[static_cast<size_t>(id)];
    if (place < 0) {  // a constant: operators come in the order of production
      ASHLAR_ASSIGN_OR_RETURN(
          place,
          add(Operators().MakeConstant(*std::exchange(var.constant, std::nullopt)), {}, var.name));
    }
    return place;
  };
  const std::vector<bool> needed = Needed(outputs);
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (!needed[i]) continue;
    const Op& op = ops_[i];
    std::vector<int> inputs;
    for (const Id input : op.inputs) {
      ASHLAR_ASSIGN_OR_RETURN(inputs.emplace_back(), get(input));
    }
    GraphBuilder::NodeOptions options;
    options.name = op.name;
    for (const Id output : op.outputs) {
      options.output_names.push_back(at(output).name.empty() ? op.name : at(output).name);
    }
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                            builder.Add(op.op, std::move(inputs), options));
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      built[static_cast<size_t>(op.outputs[o])] = made[o];
    }
  }
  for (const RecordedOutput<Id>& output : outputs) {
    ASHLAR_ASSIGN_OR_RETURN(const int var, get(output.var));
    ASHLAR_RETURN_IF_ERROR(add(std::make_shared<const OutputCallback>(output.param), {var},
                               absl::StrCat("output:", output.name), output.name)
                               .status());
  }
  return std::move(builder).Build();
}

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_RECORDED_GRAPH_H_
