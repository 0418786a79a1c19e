#include "serialization/onnx/import/graph_reader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "graph/nearest_name.h"
#include "graph/status.h"
#include "serialization/onnx/import/input_value.h"
#include "serialization/onnx/import/inputs.h"
#include "serialization/onnx/import/node_reader.h"
#include "serialization/onnx/shown.h"

namespace ashlar {
namespace {

using onnx::GraphProto;
using onnx::NodeProto;

constexpr int64_t kOldestIrVersion = 3;

// Reads a model: its inputs and outputs, as the options say.
class Reader {
 public:
  Reader(onnx::ModelProto& model, const OnnxReadOptions& options, ExternalData& external)
      : model_(model), options_(options), nodes_(model, options, external) {}

  absl::StatusOr<Graph> Read();
  int64_t folded_bytes() const { return nodes_.import().folded_bytes(); }

 private:
  const NodeProto* FindNode(const std::string& name) const;
  absl::Status CheckOptions(const std::vector<std::string>& outputs) const;
  absl::Status AddInputs(const absl::flat_hash_set<std::string>& read, OnnxScope& scope);
  absl::StatusOr<OnnxVar> Output(const std::string& name, int onnx_type, const OnnxScope& scope);

  onnx::ModelProto& model_;
  const OnnxReadOptions& options_;
  OnnxNodeReader nodes_;
};

absl::Status Reader::AddInputs(const absl::flat_hash_set<std::string>& read, OnnxScope& scope) {
  absl::flat_hash_set<std::string> names;
  for (const onnx::ValueInfoProto& input : model_.graph().input()) {
    const std::string& name = input.name();
    if (!names.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("two inputs are named '", Shown(name), "'"));
    }
    const bool initialized =
        scope.tensors.count(name) != 0 || scope.sparse_tensors.count(name) != 0;
    const auto numbers = options_.numbers.find(name);
    const bool given = numbers != options_.numbers.end();
    if (initialized && options_.shapes.count(name) == 0 && !given) continue;
    OnnxVar var;
    if (const auto value = options_.values.find(name); value != options_.values.end()) {
      var = nodes_.import().AddConstant(value->second);
      nodes_.import().SetName(var, name);
    } else if (given) {
      ASHLAR_ASSIGN_OR_RETURN(HostTensor value, OnnxInputValue(input, numbers->second, options_));
      var = nodes_.import().AddConstant(std::move(value));
      nodes_.import().SetName(var, name);
    } else {
      absl::StatusOr<TensorType> type = OnnxInputType(input, options_);
      if (!type.ok() && read.count(name) == 0) continue;
      if (!type.ok()) return type.status();
      var = nodes_.import().AddInput(name, *std::move(type));
      nodes_.floats().Note(input.type().tensor_type().elem_type());
    }
    const int onnx_type = input.type().tensor_type().elem_type();
    // Computed in another dtype than its own.
    if (IsConverted(onnx_type)) {
      nodes_.import().BeginNode(absl::StrCat(name, "/Float32"));
      ASHLAR_ASSIGN_OR_RETURN(var, nodes_.floats().Converted(var, DType::kFloat32));
    }
    nodes_.import().SetOnnxType(var, onnx_type);
    scope.vars[name] = var;
  }
  return absl::OkStatus();
}

// Returns an output of the model, a float in the dtype of the type that the file declares.
absl::StatusOr<OnnxVar> Reader::Output(const std::string& name, int onnx_type,
                                       const OnnxScope& scope) {
  ASHLAR_ASSIGN_OR_RETURN(const OnnxVar var, nodes_.Find(name, scope));
  if (nodes_.import().sequence(var) != nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("output '", Shown(name), "' is a sequence of tensors"));
  }
  return nodes_.floats().AsDeclared(name, var, onnx_type);
}

// Names the values and nodes that are spelt most like a name.
std::string DescribeNearest(const std::string& name, const std::set<std::string>& values,
                            const GraphProto& graph) {
  constexpr size_t kShownNames = 5;
  std::set<std::string> names = values;
  for (const NodeProto& node : graph.node()) names.insert(node.name());
  names.erase("");
  return absl::StrCat("; near ones of ", values.size(), " values (`inspect --nodes` lists nodes): ",
                      absl::StrJoin(NearestOnes(name, {names.begin(), names.end()}, kShownNames),
                                    ", ", [](std::string* out, const std::string& nearest) {
                                      absl::StrAppend(out, Shown(nearest));
                                    }));
}

// Returns the node of that name, or null if a value has it or there is none.
const NodeProto* Reader::FindNode(const std::string& name) const {
  const NodeProto* found = nullptr;
  for (const NodeProto& node : model_.graph().node()) {
    if (std::find(node.output().begin(), node.output().end(), name) != node.output().end()) {
      return nullptr;
    }
    if (found == nullptr && node.name() == name) found = &node;
  }
  return found;
}

// Names in the options that the model lacks.
absl::Status Reader::CheckOptions(const std::vector<std::string>& outputs) const {
  std::set<std::string> inputs, values;
  for (const onnx::ValueInfoProto& input : model_.graph().input()) inputs.insert(input.name());
  std::vector<std::string> unset;  // inputs that are no weights
  std::set<std::string> weights;
  for (const onnx::TensorProto& tensor : model_.graph().initializer())
    weights.insert(tensor.name());
  for (const std::string& input : inputs) {
    if (weights.count(input) == 0) unset.push_back(Shown(input));
  }
  const auto check_input = [&](const std::string& name) {
    if (inputs.count(name) != 0) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("no input '", Shown(name), "'; the model has: ", absl::StrJoin(unset, ", ")));
  };
  for (const auto& [name, shape] : options_.shapes) ASHLAR_RETURN_IF_ERROR(check_input(name));
  for (const auto& [name, numbers] : options_.numbers) ASHLAR_RETURN_IF_ERROR(check_input(name));
  values = inputs;
  values.insert(weights.begin(), weights.end());
  for (const NodeProto& node : model_.graph().node()) {
    values.insert(node.output().begin(), node.output().end());
  }
  for (const std::string& output : outputs) {
    if (!output.empty() && values.count(output) != 0) continue;
    if (!options_.outputs.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("no value and no node '", Shown(output), "' in the model",
                       DescribeNearest(output, values, model_.graph())));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("output '", Shown(output), "' is made by nothing"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Graph> Reader::Read() {
  if (!model_.has_graph()) return absl::InvalidArgumentError("no ONNX model: it has no graph");
  if (model_.ir_version() < kOldestIrVersion) {
    return absl::InvalidArgumentError(absl::StrCat("no ONNX model (IR version ",
                                                   model_.ir_version(), ", expected at least ",
                                                   kOldestIrVersion, ")"));
  }
  ASHLAR_ASSIGN_OR_RETURN(const OnnxOperatorSets sets, OperatorSetsOf(model_.opset_import()));
  GraphProto& graph = *model_.mutable_graph();
  std::vector<std::string> outputs;
  absl::flat_hash_set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) outputs.push_back(name);
  };
  for (const std::string& name : options_.outputs) {
    // The name of a node, as `inspect --nodes` shows it, stands for the node's outputs.
    const NodeProto* const node = FindNode(name);
    if (node == nullptr) add(name);
    for (int i = 0; node != nullptr && i < node->output_size(); ++i) {
      if (!node->output(i).empty()) add(node->output(i));
    }
  }
  if (outputs.empty()) {
    for (const onnx::ValueInfoProto& output : graph.output()) add(output.name());
  }
  if (outputs.empty()) return absl::InvalidArgumentError("the graph has no outputs");
  ASHLAR_RETURN_IF_ERROR(CheckOptions(outputs));
  nodes_.import().SetBounds(options_.bounds);
  OnnxScope scope;
  scope.sets = &sets;
  ASHLAR_RETURN_IF_ERROR(nodes_.AddInitializers(graph, scope));
  ASHLAR_ASSIGN_OR_RETURN(const OnnxOrder order, OrderOf(graph.node(), outputs));
  ASHLAR_RETURN_IF_ERROR(AddInputs(order.read, scope));
  ASHLAR_RETURN_IF_ERROR(nodes_.ReadNodes(graph.node(), order, scope));
  ASHLAR_RETURN_IF_ERROR(nodes_.missing());
  for (const auto& [name, bound] : options_.bounds) {
    if (nodes_.import().used_bounds().count(name) != 0) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "no value or node '", Shown(name), "' whose size depends on data, for the bound ", bound));
  }
  absl::flat_hash_map<absl::string_view, int> types;  // of values, as the file declares them
  for (const auto* values : {&graph.value_info(), &graph.output()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      types[value.name()] = value.type().tensor_type().elem_type();
    }
  }
  std::vector<RecordedOutput<OnnxVar>> bound;
  for (const std::string& name : outputs) {
    ASHLAR_ASSIGN_OR_RETURN(const OnnxVar var, Output(name, types[name], scope));
    bound.push_back({name, var});
  }
  // Counts come last, so that all other outputs keep their places.
  for (const std::string& name : outputs) {
    ASHLAR_ASSIGN_OR_RETURN(const OnnxVar var, nodes_.Find(name, scope));
    for (const OnnxCount* const count :
         {nodes_.import().count(var), nodes_.import().second_count(var)}) {
      if (count == nullptr) continue;
      // The number of the dimension follows, unless it is the first.
      std::string beside =
          absl::StrCat(name, ".count", count->axis == 0 ? "" : absl::StrCat(count->axis));
      while (!seen.insert(beside).second) beside += "_";
      bound.push_back({beside, count->count, {name, count->axis}});
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    const auto var = scope.vars.find(output.name());
    if (var == scope.vars.end()) continue;
    NoteOnnxType(output, nodes_.import().type(var->second), options_);
    nodes_.floats().Note(output.type().tensor_type().elem_type());
  }
  nodes_.floats().Tell();
  return std::move(nodes_.import()).Finish(bound);
}

}  // namespace

absl::StatusOr<Graph> ReadOnnxGraph(onnx::ModelProto& model, const OnnxReadOptions& options,
                                    ExternalData& external, int64_t& folded_bytes) {
  Reader reader(model, options, external);
  absl::StatusOr<Graph> graph = reader.Read();
  folded_bytes = reader.folded_bytes();
  return graph;
}

}  // namespace ashlar
