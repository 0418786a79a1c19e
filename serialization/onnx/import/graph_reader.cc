#include "serialization/onnx/import/graph_reader.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "graph/nearest_name.h"
#include "graph/status.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/float_types.h"
#include "serialization/onnx/import/functions.h"
#include "serialization/onnx/import/import.h"
#include "serialization/onnx/import/input_value.h"
#include "serialization/onnx/import/inputs.h"
#include "serialization/onnx/import/missing.h"
#include "serialization/onnx/import/operator_sets.h"
#include "serialization/onnx/import/quantities.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/order.h"
#include "serialization/onnx/shown.h"
#include "serialization/onnx/tensors.h"

namespace ashlar {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;

// Functions that call functions could make a small file without end.
constexpr int64_t kMostNodes = 1'000'000;
constexpr int kDeepestNesting = 100;    // of calls and branches; protobuf's own limit
constexpr size_t kLongestPrefix = 256;  // of the names in a function; about
constexpr int64_t kOldestIrVersion = 3;

// The names that are visible at a place in a graph.
struct Scope {
  const Scope* outer = nullptr;  // of a branch: the graph around it
  const OnnxOperatorSets* sets = nullptr;
  std::string prefix;  // of names, in functions
  int depth = 0;
  std::vector<const FunctionProto*> calls;  // open calls
  absl::flat_hash_map<std::string, OnnxVar> vars;
  // Initializers, read when they are asked for.
  absl::flat_hash_map<std::string, onnx::TensorProto*> tensors;
  absl::flat_hash_map<std::string, const onnx::SparseTensorProto*> sparse_tensors;
};

class Reader {
 public:
  Reader(onnx::ModelProto& model, const OnnxReadOptions& options, ExternalData& external)
      : model_(model),
        options_(options),
        external_(external),
        import_(options.most_folded_bytes, options.most_folded_operations),
        functions_(model),
        floats_(import_, options) {}

  absl::StatusOr<Graph> Read();
  int64_t folded_bytes() const { return import_.folded_bytes(); }

 private:
  const NodeProto* FindNode(const std::string& name) const;
  absl::Status CheckOptions(const std::vector<std::string>& outputs) const;
  absl::Status AddInputs(const absl::flat_hash_set<std::string>& read, Scope& scope);
  absl::Status AddInitializers(GraphProto& graph, Scope& scope);
  absl::Status ReadNodes(const OnnxNodes& nodes, const OnnxOrder& order, Scope& scope);
  absl::Status ReadNode(const NodeProto& node, const absl::flat_hash_set<std::string>& read,
                        Scope& scope);
  absl::Status ReadOperator(const NodeProto& node, const std::vector<OnnxVar>& inputs,
                            const absl::flat_hash_set<std::string>& read, Scope& scope);
  void NoteRanges(const OnnxRow& row, const std::vector<OnnxVar>& inputs, OnnxVars& vars,
                  const std::function<OnnxVars(std::vector<OnnxVar>)>& read);
  absl::Status ReadCondition(const NodeProto& node, OnnxVar condition, Scope& scope);
  absl::StatusOr<std::vector<OnnxVar>> ReadBranch(const NodeProto& node, const char* branch,
                                                  Scope& scope);
  absl::Status ReadCall(const NodeProto& node, const FunctionProto& function,
                        const std::vector<OnnxVar>& inputs, Scope& scope);
  absl::StatusOr<OnnxVar> Find(const std::string& name, const Scope& scope);
  void Define(const NodeProto& node, int output, OnnxVar var, Scope& scope);
  void Miss(const NodeProto& node, bool folding, const std::string& why, Scope& scope);
  absl::StatusOr<OnnxVar> Output(const std::string& name, int onnx_type, const Scope& scope);
  std::string InputsOf(OnnxVar of) const;

  onnx::ModelProto& model_;
  const OnnxReadOptions& options_;
  ExternalData& external_;
  OnnxImport import_;
  MissingOperators missing_;
  const OnnxFunctions functions_;
  OnnxFloatTypes floats_;
  int64_t nodes_read_ = 0;
};

// Returns the inputs that a var is computed of, as a clause with the option that makes them known.
std::string Reader::InputsOf(OnnxVar of) const {
  constexpr int64_t kMostNumbers = 16;  // that anybody gives on a command line
  std::set<OnnxVar> seen;
  std::vector<OnnxVar> left = {of};
  std::set<std::string> inputs;
  bool small = true;
  while (!left.empty()) {
    const OnnxVar var = left.back();
    left.pop_back();
    if (var == kNoOnnxVar || !seen.insert(var).second) continue;
    if (import_.producer(var) != nullptr) {
      const absl::Span<const OnnxVar> operands = import_.operands(var);
      left.insert(left.end(), operands.begin(), operands.end());
    } else if (import_.is_input(var)) {
      inputs.insert(Shown(import_.name(var)));
      small = small && import_.type(var).shape.num_elements() <= kMostNumbers;
    }
  }
  if (inputs.empty()) return "";
  const char* const kind = inputs.size() == 1 ? "input " : "inputs ";
  std::string text = absl::StrCat(", as it depends on ", kind, absl::StrJoin(inputs, " and "));
  if (!small) return text;
  return absl::StrCat(text, "; the command's --value ", absl::StrJoin(inputs, "=NUMBER --value "),
                      "=NUMBER makes it known");
}

absl::StatusOr<OnnxVar> Reader::Find(const std::string& name, const Scope& scope) {
  for (const Scope* at = &scope; at != nullptr; at = at->outer) {
    if (const auto var = at->vars.find(name); var != at->vars.end()) return var->second;
    absl::StatusOr<HostTensor> value = absl::NotFoundError("");
    int type = 0;
    if (const auto tensor = at->tensors.find(name); tensor != at->tensors.end()) {
      type = tensor->second->data_type();
      value = TakeTensor(*tensor->second, external_);
    } else if (const auto sparse = at->sparse_tensors.find(name);
               sparse != at->sparse_tensors.end()) {
      type = sparse->second->values().data_type();
      value = ReadSparseTensor(*sparse->second, external_, [&](const Shape& shape, DType dtype) {
        return import_.CountFolded(shape, dtype);
      });
    } else {
      continue;
    }
    if (!value.ok()) return value.status();
    floats_.Note(type);
    const OnnxVar var = import_.AddConstant(*std::move(value));
    import_.SetName(var, absl::StrCat(at->prefix, name));
    import_.SetOnnxType(var, type);
    // The scope is ours; only lookups see it as constant.
    const_cast<Scope*>(at)->vars.emplace(name, var);
    return var;
  }
  return absl::InvalidArgumentError(absl::StrCat("value '", Shown(name), "' is made by nothing"));
}

void Reader::Define(const NodeProto& node, int output, OnnxVar var, Scope& scope) {
  if (output >= node.output_size() || node.output(output).empty()) return;
  scope.vars[node.output(output)] = var;
  import_.SetName(var, absl::StrCat(scope.prefix, node.output(output)));
}

void Reader::Miss(const NodeProto& node, bool folding, const std::string& why, Scope& scope) {
  const std::string domain = OnnxDomain(node.domain());
  const auto set = scope.sets->find(domain);
  missing_.Add({Shown(domain), Shown(node.op_type()), set != scope.sets->end() ? set->second : 0,
                folding, why},
               Shown(absl::StrCat(scope.prefix, NameOfOnnx(node))));
  const OnnxVar unknown = import_.AddUnknown(folding);
  for (int i = 0; i < node.output_size(); ++i) Define(node, i, unknown, scope);
}

absl::Status Reader::AddInitializers(GraphProto& graph, Scope& scope) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    if (scope.tensors.emplace(tensor.name(), &tensor).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("two initializers are named '", Shown(tensor.name()), "'"));
  }
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer()) {
    const std::string& name = tensor.values().name();
    if (scope.tensors.count(name) == 0 && scope.sparse_tensors.emplace(name, &tensor).second) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("two initializers are named '", Shown(name), "'"));
  }
  return absl::OkStatus();
}

absl::Status Reader::AddInputs(const absl::flat_hash_set<std::string>& read, Scope& scope) {
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
      var = import_.AddConstant(value->second);
      import_.SetName(var, name);
    } else if (given) {
      ASHLAR_ASSIGN_OR_RETURN(HostTensor value, OnnxInputValue(input, numbers->second, options_));
      var = import_.AddConstant(std::move(value));
      import_.SetName(var, name);
    } else {
      absl::StatusOr<TensorType> type = OnnxInputType(input, options_);
      if (!type.ok() && read.count(name) == 0) continue;
      if (!type.ok()) return type.status();
      var = import_.AddInput(name, *std::move(type));
      floats_.Note(input.type().tensor_type().elem_type());
    }
    const int onnx_type = input.type().tensor_type().elem_type();
    // Computed in another dtype than its own.
    if (IsConverted(onnx_type)) {
      import_.BeginNode(absl::StrCat(name, "/Float32"));
      ASHLAR_ASSIGN_OR_RETURN(var, floats_.Converted(var, DType::kFloat32));
    }
    import_.SetOnnxType(var, onnx_type);
    scope.vars[name] = var;
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadNodes(const OnnxNodes& nodes, const OnnxOrder& order, Scope& scope) {
  for (const int i : order.nodes) {
    const NodeProto& node = nodes[i];
    import_.BeginNode(absl::StrCat(scope.prefix, NameOfOnnx(node)));
    if (absl::Status status = ReadNode(node, order.read, scope); !status.ok()) {
      return Annotate(status, DescribeOnnx(node));
    }
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadNode(const NodeProto& node, const absl::flat_hash_set<std::string>& read,
                              Scope& scope) {
  if (++nodes_read_ > kMostNodes) {
    return absl::InvalidArgumentError(absl::StrCat("more than ", kMostNodes, " nodes"));
  }
  for (const std::string& output : node.output()) {
    const bool taken = scope.vars.count(output) != 0 || scope.tensors.count(output) != 0;
    if (!output.empty() && taken) {
      return absl::InvalidArgumentError(
          absl::StrCat("its output '", Shown(output), "' is an input or an initializer"));
    }
  }
  std::vector<OnnxVar> inputs;
  bool unknown = false, foldable = true;
  for (const std::string& name : node.input()) {
    OnnxVar var = kNoOnnxVar;
    if (!name.empty()) {
      ASHLAR_ASSIGN_OR_RETURN(var, Find(name, scope));
      unknown = unknown || import_.unknown(var);
      foldable = foldable && import_.foldable(var);
    }
    inputs.push_back(var);
  }
  while (!inputs.empty() && inputs.back() == kNoOnnxVar) inputs.pop_back();

  const FunctionProto* function = functions_.Find(node);
  if (function != nullptr && !unknown) return ReadCall(node, *function, inputs, scope);
  const std::string domain = OnnxDomain(node.domain());
  const bool condition = domain.empty() && node.op_type() == "If";
  if (condition && inputs.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(inputs.size(), " inputs, expected 1"));
  }
  if (condition && !unknown) return ReadCondition(node, inputs[0], scope);
  if (condition || function != nullptr) {  // of something that is missing
    const OnnxVar var = import_.AddUnknown(foldable);
    for (int i = 0; i < node.output_size(); ++i) Define(node, i, var, scope);
    return absl::OkStatus();
  }
  const auto set = scope.sets->find(domain);
  const OnnxRow* row =
      set != scope.sets->end() ? FindOnnxRow(domain, node.op_type(), set->second) : nullptr;
  if (row == nullptr || (row->run == nullptr && row->body == nullptr && !foldable)) {
    Miss(node, foldable, set == scope.sets->end() ? "its domain is not imported" : "", scope);
    return absl::OkStatus();
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNoOnnxVar || import_.sequence(inputs[i]) == nullptr) continue;
    if (i == 0 && row->of_sequence) continue;
    Miss(node, foldable, "of a sequence of tensors", scope);
    return absl::OkStatus();
  }
  // The others would take fill for elements, or the largest size for the size.
  for (size_t i = 0; i < inputs.size() && !unknown && row->counted == nullptr; ++i) {
    if (inputs[i] == kNoOnnxVar || import_.count(inputs[i]) == nullptr) continue;
    Miss(node, false,
         absl::StrCat("the size of '", Shown(node.input(static_cast<int>(i))), "' depends on data"),
         scope);
    return absl::OkStatus();
  }
  if (unknown) {
    const OnnxVar var = import_.AddUnknown(foldable || row->shape_only);
    for (int i = 0; i < node.output_size(); ++i) Define(node, i, var, scope);
    return absl::OkStatus();
  }
  return ReadOperator(node, inputs, read, scope);
}

absl::Status Reader::ReadOperator(const NodeProto& node, const std::vector<OnnxVar>& inputs,
                                  const absl::flat_hash_set<std::string>& read, Scope& scope) {
  const std::string domain = OnnxDomain(node.domain());
  const int64_t version = scope.sets->at(domain);
  const OnnxRow& row = *FindOnnxRow(domain, node.op_type(), version);
  const int count = static_cast<int>(inputs.size());
  if (count < row.min_inputs || count > row.max_inputs) {
    return absl::InvalidArgumentError(absl::StrCat(count, " inputs, expected ", row.min_inputs,
                                                   row.max_inputs == OnnxRow::kAny ? " or more"
                                                   : row.max_inputs > row.min_inputs
                                                       ? absl::StrCat(" to ", row.max_inputs)
                                                       : ""));
  }
  if (row.body != nullptr) {
    const absl::StatusOr<FunctionProto> body = row.body(node);
    if (body.ok()) return ReadCall(node, *body, inputs, scope);
    if (!absl::IsUnimplemented(body.status())) return body.status();
    Miss(node, false, std::string(body.status().message()), scope);
    return absl::OkStatus();
  }
  std::vector<bool> outputs;
  for (const std::string& output : node.output()) {
    outputs.push_back(!output.empty() && read.contains(output));
  }
  std::vector<OnnxVar> read_inputs = inputs;
  bool narrowed = false;
  if (!row.doubles) {
    ASHLAR_ASSIGN_OR_RETURN(narrowed, floats_.Narrow(node.op_type(), read_inputs));
  }
  const bool counted = std::any_of(inputs.begin(), inputs.end(), [&](OnnxVar var) {
    return var != kNoOnnxVar && import_.count(var) != nullptr;
  });
  const bool ranged = std::any_of(inputs.begin(), inputs.end(), [&](OnnxVar var) {
    return var != kNoOnnxVar && import_.range(var) != nullptr;
  });
  OnnxNode reading(node, version, read_inputs, outputs, import_, external_);
  const bool constant = reading.all_constant() && !counted;
  const OnnxImportFunction function =
      row.run == nullptr || (constant && row.fold != nullptr) ? row.fold : row.run;
  const bool by_rule = (counted || ranged) && row.counted != nullptr;
  OnnxVars vars = by_rule ? row.counted(reading, function) : function(reading);
  if (reading.ok() && domain.empty() && !vars.empty()) NoteQuantities(reading, function, vars);
  const absl::Status status = reading.Finish();
  if (absl::IsUnimplemented(status)) {
    Miss(node, constant, std::string(status.message()), scope);
    return absl::OkStatus();
  }
  ASHLAR_RETURN_IF_ERROR(status);
  if (ranged && !counted) {
    NoteRanges(row, read_inputs, vars, [&](std::vector<OnnxVar> values) {
      OnnxNode at(node, version, std::move(values), outputs, import_, external_);
      OnnxVars results = (row.fold != nullptr ? row.fold : row.run)(at);
      return at.Finish().ok() ? results : OnnxVars();
    });
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (!reading.has_output(i)) continue;
    if (i >= static_cast<int>(vars.size()) || vars[i] == kNoOnnxVar) {
      Miss(node, constant, absl::StrCat("output ", i), scope);
      return absl::OkStatus();
    }
    OnnxVar var = vars[i];
    if (narrowed && import_.sequence(var) == nullptr &&
        import_.type(var).dtype == DType::kFloat32) {
      ASHLAR_ASSIGN_OR_RETURN(var, floats_.Converted(var, DType::kFloat64));
    }
    Define(node, i, var, scope);
  }
  return absl::OkStatus();
}

// Notes the ranges of outputs by the ranges of inputs; an output that does not vary is a constant.
void Reader::NoteRanges(const OnnxRow& row, const std::vector<OnnxVar>& inputs, OnnxVars& vars,
                        const std::function<OnnxVars(std::vector<OnnxVar>)>& read) {
  const auto evaluate = [&](const std::vector<HostTensor>& values) {
    std::vector<OnnxVar> constants;
    for (const HostTensor& value : values) constants.push_back(import_.AddConstant(value));
    std::vector<HostTensor> results;
    for (const OnnxVar result : read(std::move(constants))) {
      if (result == kNoOnnxVar || import_.constant(result) == nullptr) {
        return std::vector<HostTensor>();
      }
      results.push_back(*import_.constant(result));
    }
    return results;
  };
  std::vector<OnnxRange> ranges = OnnxRangesOf(row.ranged, inputs, import_, evaluate);
  for (size_t i = 0; i < std::min(vars.size(), ranges.size()); ++i) {
    if (vars[i] == kNoOnnxVar || import_.constant(vars[i]) != nullptr) continue;
    bool varies = false;
    for (int64_t e = 0; e < ranges[i].least.num_elements(); ++e) {
      varies = varies || ranges[i].least.At(e) != ranges[i].most.At(e);
    }
    if (varies) {
      import_.SetRange(vars[i], std::move(ranges[i]));
    } else {
      vars[i] = import_.AddConstant(std::move(ranges[i].most));
    }
  }
}

absl::Status Reader::ReadCondition(const NodeProto& node, OnnxVar condition, Scope& scope) {
  if (scope.depth >= kDeepestNesting) return absl::InvalidArgumentError("branches nest too deep");
  const HostTensor* value = import_.constant(condition);
  if (value != nullptr && value->num_elements() != 1) {
    return absl::InvalidArgumentError("the condition has not 1 element");
  }
  if (value != nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(
        const std::vector<OnnxVar> vars,
        ReadBranch(node, value->At(0) != 0 ? "then_branch" : "else_branch", scope));
    for (int i = 0; i < node.output_size(); ++i) Define(node, i, vars[i], scope);
    return absl::OkStatus();
  }
  if (!import_.depends_on_counts(condition)) {
    Miss(node, false,
         absl::StrCat("the condition is not known before the run", InputsOf(condition)), scope);
    return absl::OkStatus();
  }
  // Computes both branches, and chooses.
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<OnnxVar> chosen,
                          ReadBranch(node, "then_branch", scope));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<OnnxVar> other, ReadBranch(node, "else_branch", scope));
  OnnxNode reading(node, kNewestOperatorSet, {condition}, {}, import_, external_);
  reading.Ignore({"then_branch", "else_branch"});
  std::vector<OnnxVar> vars;
  for (int i = 0; i < node.output_size(); ++i) {
    const bool both = chosen[i] != kNoOnnxVar && !import_.unknown(chosen[i]) &&
                      !import_.unknown(other[i]) && import_.sequence(chosen[i]) == nullptr &&
                      import_.sequence(other[i]) == nullptr;
    vars.push_back(both ? EitherOf(reading, condition, chosen[i], other[i])
                        : import_.AddUnknown(false));
    if (reading.ok()) continue;
    Miss(node, false, std::string(reading.Finish().message()), scope);
    return absl::OkStatus();
  }
  for (int i = 0; i < node.output_size(); ++i) Define(node, i, vars[i], scope);
  return absl::OkStatus();
}

// Returns the outputs of a branch, as many as the node has.
absl::StatusOr<std::vector<OnnxVar>> Reader::ReadBranch(const NodeProto& node, const char* branch,
                                                        Scope& scope) {
  const GraphProto* graph = nullptr;
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == branch && attribute.has_g()) graph = &attribute.g();
  }
  if (graph == nullptr) return absl::InvalidArgumentError(absl::StrCat(branch, " is missing"));
  if (graph->output_size() < node.output_size()) {
    return absl::InvalidArgumentError(absl::StrCat(branch, " has too few outputs"));
  }
  Scope inner;
  inner.outer = &scope;
  inner.sets = scope.sets;
  inner.prefix = scope.prefix;
  inner.depth = scope.depth + 1;
  inner.calls = scope.calls;
  // A function's body is read again with every call, so that its tensors stay in it.
  GraphProto copy;
  for (const onnx::TensorProto& tensor : graph->initializer()) *copy.add_initializer() = tensor;
  for (const auto& tensor : graph->sparse_initializer()) *copy.add_sparse_initializer() = tensor;
  ASHLAR_RETURN_IF_ERROR(import_.CountCopied(static_cast<int64_t>(copy.ByteSizeLong())));
  ASHLAR_RETURN_IF_ERROR(AddInitializers(copy, inner));
  std::vector<std::string> outputs;
  for (const onnx::ValueInfoProto& output : graph->output()) outputs.push_back(output.name());
  ASHLAR_ASSIGN_OR_RETURN(const OnnxOrder order, OrderOf(graph->node(), outputs));
  ASHLAR_RETURN_IF_ERROR(ReadNodes(graph->node(), order, inner));
  std::vector<OnnxVar> vars(static_cast<size_t>(node.output_size()), kNoOnnxVar);
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    ASHLAR_ASSIGN_OR_RETURN(vars[static_cast<size_t>(i)], Find(outputs[i], inner));
  }
  return vars;
}

absl::Status Reader::ReadCall(const NodeProto& node, const FunctionProto& function,
                              const std::vector<OnnxVar>& inputs, Scope& scope) {
  if (std::find(scope.calls.begin(), scope.calls.end(), &function) != scope.calls.end()) {
    return absl::InvalidArgumentError("the function calls itself");
  }
  if (scope.depth >= kDeepestNesting) return absl::InvalidArgumentError("calls nest too deep");
  ASHLAR_RETURN_IF_ERROR(import_.CountCopied(static_cast<int64_t>(function.ByteSizeLong())));
  std::vector<bool> given;
  for (const OnnxVar input : inputs) given.push_back(input != kNoOnnxVar);
  ASHLAR_ASSIGN_OR_RETURN(const OnnxNodes body, BodyOfCall(function, node, given));
  ASHLAR_ASSIGN_OR_RETURN(const OnnxOperatorSets sets, OperatorSetsOf(function.opset_import()));
  Scope inner;
  inner.sets = &sets;
  inner.prefix = scope.prefix;
  if (inner.prefix.size() < kLongestPrefix) {
    absl::StrAppend(&inner.prefix, NameOfOnnx(node).substr(0, kLongestPrefix), "/");
  }
  inner.depth = scope.depth + 1;
  inner.calls = scope.calls;
  inner.calls.push_back(&function);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (given[i]) inner.vars[function.input(static_cast<int>(i))] = inputs[i];
  }
  const std::vector<std::string> outputs(function.output().begin(), function.output().end());
  std::vector<std::string> needed(outputs.begin(), outputs.begin() + node.output_size());
  ASHLAR_ASSIGN_OR_RETURN(const OnnxOrder order, OrderOf(body, needed));
  ASHLAR_RETURN_IF_ERROR(ReadNodes(body, order, inner));
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    ASHLAR_ASSIGN_OR_RETURN(const OnnxVar var, Find(outputs[i], inner));
    Define(node, i, var, scope);
  }
  return absl::OkStatus();
}

// Returns an output of the model, a float in the dtype of the type that the file declares.
absl::StatusOr<OnnxVar> Reader::Output(const std::string& name, int onnx_type, const Scope& scope) {
  ASHLAR_ASSIGN_OR_RETURN(const OnnxVar var, Find(name, scope));
  if (import_.sequence(var) != nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("output '", Shown(name), "' is a sequence of tensors"));
  }
  return floats_.AsDeclared(name, var, onnx_type);
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
  if (model_.ir_version() < kOldestIrVersion || !model_.has_graph()) {
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
  import_.SetBounds(options_.bounds);
  Scope scope;
  scope.sets = &sets;
  ASHLAR_RETURN_IF_ERROR(AddInitializers(graph, scope));
  ASHLAR_ASSIGN_OR_RETURN(const OnnxOrder order, OrderOf(graph.node(), outputs));
  ASHLAR_RETURN_IF_ERROR(AddInputs(order.read, scope));
  ASHLAR_RETURN_IF_ERROR(ReadNodes(graph.node(), order, scope));
  ASHLAR_RETURN_IF_ERROR(missing_.ToStatus());
  for (const auto& [name, bound] : options_.bounds) {
    if (import_.used_bounds().count(name) != 0) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "no value or node '", Shown(name), "' whose size depends on data, for the bound ", bound));
  }
  absl::flat_hash_map<absl::string_view, int> types;  // of values, as the file declares them
  for (const auto* values : {&graph.value_info(), &graph.output()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      types[value.name()] = value.type().tensor_type().elem_type();
    }
  }
  std::vector<std::pair<std::string, OnnxVar>> bound;
  for (const std::string& name : outputs) {
    ASHLAR_ASSIGN_OR_RETURN(const OnnxVar var, Output(name, types[name], scope));
    bound.emplace_back(name, var);
  }
  // Counts come last, so that all other outputs keep their places.
  for (const std::string& name : outputs) {
    ASHLAR_ASSIGN_OR_RETURN(const OnnxVar var, Find(name, scope));
    const OnnxCount* const count = import_.count(var);
    if (count == nullptr) continue;
    // The number of the dimension follows, unless it is the first.
    const std::string beside =
        absl::StrCat(name, ".count", count->axis == 0 ? "" : absl::StrCat(count->axis));
    if (!seen.insert(beside).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output '", Shown(beside), "' has the name of the count of output '", Shown(name), "'"));
    }
    bound.emplace_back(beside, count->count);
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    const auto var = scope.vars.find(output.name());
    if (var == scope.vars.end()) continue;
    NoteOnnxType(output, import_.type(var->second), options_);
    floats_.Note(output.type().tensor_type().elem_type());
  }
  floats_.Tell();
  return std::move(import_).Finish(bound);
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
