// Reads the graphs inside of nodes: branches of If, and functions.
//
// A condition that is known before the run chooses a branch. Otherwise both are computed, and the
// run chooses between their results. Checks of a branch in the run (that indices are in range)
// hold only if it is chosen: the guard of the import.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/node_reader.h"
#include "serialization/onnx/shown.h"

namespace ashlar {

using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;
using F = ScalarFunction;

namespace {

constexpr int kDeepestNesting = 100;    // of calls, branches and loops; protobuf's own limit
constexpr size_t kLongestPrefix = 256;  // of the names in a function; about

}  // namespace

absl::Status CheckOnnxNesting(const OnnxScope& scope) {
  if (scope.depth < kDeepestNesting) return absl::OkStatus();
  return absl::InvalidArgumentError("calls, branches and loops nest too deep");
}

absl::StatusOr<const GraphProto*> OnnxGraphOf(const NodeProto& node, const char* attribute) {
  for (const onnx::AttributeProto& given : node.attribute()) {
    if (given.name() == attribute && given.has_g()) return &given.g();
  }
  return absl::InvalidArgumentError(absl::StrCat(attribute, " is missing"));
}

OnnxScope OnnxScope::Inside(const std::string& name) const {
  OnnxScope inner;
  inner.outer = this;
  inner.sets = sets;
  inner.prefix = prefix;
  if (!name.empty() && prefix.size() < kLongestPrefix) {
    absl::StrAppend(&inner.prefix, name.substr(0, kLongestPrefix), "/");
  }
  inner.depth = depth + 1;
  inner.calls = calls;
  return inner;
}

OnnxNodeReader::NodeRule OnnxNodeReader::RuleOf(const NodeProto& node) {
  if (node.domain() == "ai.onnx.preview" && node.op_type() == "FlexAttention") {
    return &OnnxNodeReader::ReadFlexAttention;
  }
  if (!OnnxDomain(node.domain()).empty()) return nullptr;
  if (node.op_type() == "If") return &OnnxNodeReader::ReadCondition;
  if (node.op_type() == "Loop") return &OnnxNodeReader::ReadLoop;
  if (node.op_type() == "Scan") return &OnnxNodeReader::ReadScan;
  if (node.op_type() == "SequenceMap") return &OnnxNodeReader::ReadSequenceMap;
  return nullptr;
}

absl::Status OnnxNodeReader::ReadCondition(const NodeProto& node,
                                           const std::vector<OnnxVar>& inputs, OnnxScope& scope) {
  if (inputs.size() != 1 || inputs[0] == kNoOnnxVar) {
    return absl::InvalidArgumentError(absl::StrCat(inputs.size(), " inputs, expected 1"));
  }
  const OnnxVar condition = inputs[0];
  if (import_.sequence(condition) != nullptr || import_.type(condition).shape.num_elements() != 1) {
    return absl::InvalidArgumentError("the condition has not 1 element");
  }
  if (const HostTensor* const value = import_.constant(condition)) {
    ASHLAR_ASSIGN_OR_RETURN(
        const std::vector<OnnxVar> vars,
        ReadBranch(node, value->At(0) != 0 ? "then_branch" : "else_branch", scope));
    for (int i = 0; i < node.output_size(); ++i) Define(node, i, vars[i], scope);
    return absl::OkStatus();
  }
  OnnxNode reading(node, kNewestOperatorSet, {condition}, {}, import_, external_);
  reading.Ignore({"then_branch", "else_branch"});
  const OnnxVar holds = Truth(reading, condition);
  const OnnxVar otherwise = reading.Difference(reading.Integer(1), holds);
  ASHLAR_RETURN_IF_ERROR(reading.Finish());
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<OnnxVar> chosen, Guarded(holds, reading, [&] {
                            return ReadBranch(node, "then_branch", scope);
                          }));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<OnnxVar> other, Guarded(otherwise, reading, [&] {
                            return ReadBranch(node, "else_branch", scope);
                          }));
  std::vector<OnnxVar> vars;
  for (int i = 0; i < node.output_size(); ++i) {
    vars.push_back(Chosen(reading, holds, chosen[i], other[i]));
    if (reading.ok()) continue;
    const absl::Status status = reading.Finish();
    if (!absl::IsUnimplemented(status)) return status;
    Miss(node, false,
         absl::StrCat("the condition is not known before the run", InputsOf(condition), ", and ",
                      status.message()),
         scope);
    return absl::OkStatus();
  }
  for (int i = 0; i < node.output_size(); ++i) Define(node, i, vars[i], scope);
  if (options_.note != nullptr && !import_.depends_on_counts(condition)) {
    options_.note(
        absl::StrCat(Shown(DescribeOnnx(node)),
                     ": both branches are computed in every run, because the condition is "
                     "not known before",
                     InputsOf(condition)));
  }
  return absl::OkStatus();
}

OnnxVar OnnxNodeReader::Chosen(OnnxNode& reading, OnnxVar condition, OnnxVar a, OnnxVar b) {
  if (a == b) return a;
  for (const OnnxVar var : {a, b}) {
    if (var == kNoOnnxVar || import_.unknown(var)) return import_.AddUnknown(false);
    if (import_.sequence(var) != nullptr) {
      return reading.Unsupported("the results are sequences of tensors");
    }
  }
  return EitherOf(reading, condition, a, b);
}

absl::StatusOr<std::vector<OnnxVar>> OnnxNodeReader::Guarded(OnnxVar condition, OnnxNode& reading,
                                                             BodyReader read) {
  const OnnxVar outer = import_.guard();
  if (condition != kNoOnnxVar) {
    import_.SetGuard(outer != kNoOnnxVar ? reading.Product(outer, condition) : condition);
  }
  absl::StatusOr<std::vector<OnnxVar>> vars = read();
  import_.SetGuard(outer);
  return vars;
}

absl::StatusOr<std::vector<OnnxVar>> OnnxNodeReader::ReadBranch(const NodeProto& node,
                                                                const char* branch,
                                                                OnnxScope& scope, OnnxVar given) {
  ASHLAR_RETURN_IF_ERROR(CheckOnnxNesting(scope));
  ASHLAR_ASSIGN_OR_RETURN(const GraphProto* const graph, OnnxGraphOf(node, branch));
  if (graph->output_size() < node.output_size()) {
    return absl::InvalidArgumentError(absl::StrCat(branch, " has too few outputs"));
  }
  OnnxScope inner = scope.Inside("");
  if (given != kNoOnnxVar) {
    if (graph->input_size() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(branch, " has not 1 input"));
    }
    inner.vars[graph->input(0).name()] = given;
  }
  GraphProto tensors;
  ASHLAR_RETURN_IF_ERROR(AddTensorsOf(*graph, tensors, inner));
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

absl::Status OnnxNodeReader::AddTensorsOf(const GraphProto& graph, GraphProto& copy,
                                          OnnxScope& scope) {
  // A function's body is read again with every call, so that its tensors stay in it.
  for (const onnx::TensorProto& tensor : graph.initializer()) *copy.add_initializer() = tensor;
  for (const auto& tensor : graph.sparse_initializer()) *copy.add_sparse_initializer() = tensor;
  ASHLAR_RETURN_IF_ERROR(import_.CountCopied(static_cast<int64_t>(copy.ByteSizeLong())));
  return AddInitializers(copy, scope);
}

absl::Status OnnxNodeReader::ReadCall(const NodeProto& node, const FunctionProto& function,
                                      const std::vector<OnnxVar>& inputs, OnnxScope& scope) {
  if (std::find(scope.calls.begin(), scope.calls.end(), &function) != scope.calls.end()) {
    return absl::InvalidArgumentError("the function calls itself");
  }
  ASHLAR_RETURN_IF_ERROR(CheckOnnxNesting(scope));
  ASHLAR_RETURN_IF_ERROR(import_.CountCopied(static_cast<int64_t>(function.ByteSizeLong())));
  std::vector<bool> given;
  for (const OnnxVar input : inputs) given.push_back(input != kNoOnnxVar);
  ASHLAR_ASSIGN_OR_RETURN(const OnnxNodes body, BodyOfCall(function, node, given));
  ASHLAR_ASSIGN_OR_RETURN(const OnnxOperatorSets sets, OperatorSetsOf(function.opset_import()));
  OnnxScope inner = scope.Inside(NameOfOnnx(node));
  inner.outer = nullptr;  // functions see only their inputs
  inner.sets = &sets;
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

}  // namespace ashlar
