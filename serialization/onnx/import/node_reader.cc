#include "serialization/onnx/import/node_reader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "serialization/onnx/import/quantities.h"
#include "serialization/onnx/shown.h"
#include "serialization/onnx/tensors.h"

namespace ashlar {

using onnx::FunctionProto;
using onnx::NodeProto;

// Functions that call functions, and loops, could make a small file without end.
constexpr int64_t kMostNodes = 1'000'000;

// Returns the inputs that a var is computed of, as a clause with the option that makes them known.
std::string OnnxNodeReader::InputsOf(OnnxVar of) const {
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
                      "=NUMBER, or `values` of the library, makes it known");
}

absl::StatusOr<OnnxVar> OnnxNodeReader::Find(const std::string& name, const OnnxScope& scope) {
  for (const OnnxScope* at = &scope; at != nullptr; at = at->outer) {
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
    const_cast<OnnxScope*>(at)->vars.emplace(name, var);
    return var;
  }
  return absl::InvalidArgumentError(absl::StrCat("value '", Shown(name), "' is made by nothing"));
}

absl::Status OnnxNodeReader::AddInitializers(onnx::GraphProto& graph, OnnxScope& scope) {
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

void OnnxNodeReader::Define(const NodeProto& node, int output, OnnxVar var, OnnxScope& scope) {
  if (output >= node.output_size() || node.output(output).empty()) return;
  scope.vars[node.output(output)] = var;
  import_.SetName(var, absl::StrCat(scope.prefix, node.output(output)));
}

void OnnxNodeReader::DefineUnknown(const NodeProto& node, bool foldable, OnnxScope& scope) {
  const OnnxVar unknown = import_.AddUnknown(foldable);
  for (int i = 0; i < node.output_size(); ++i) Define(node, i, unknown, scope);
}

void OnnxNodeReader::Miss(const NodeProto& node, bool folding, const std::string& why,
                          OnnxScope& scope) {
  const std::string domain = OnnxDomain(node.domain());
  const auto set = scope.sets->find(domain);
  missing_.Add({Shown(domain), Shown(node.op_type()), set != scope.sets->end() ? set->second : 0,
                folding, why},
               Shown(absl::StrCat(scope.prefix, NameOfOnnx(node))));
  DefineUnknown(node, folding, scope);
}

absl::Status OnnxNodeReader::ReadNodes(const OnnxNodes& nodes, const OnnxOrder& order,
                                       OnnxScope& scope) {
  for (const int i : order.nodes) {
    const NodeProto& node = nodes[i];
    import_.BeginNode(absl::StrCat(scope.prefix, NameOfOnnx(node)), scope.prefix);
    if (absl::Status status = ReadNode(node, order.read, scope); !status.ok()) {
      return Annotate(status, DescribeOnnx(node));
    }
  }
  return absl::OkStatus();
}

absl::Status OnnxNodeReader::ReadNode(const NodeProto& node, const Read& read, OnnxScope& scope) {
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
  const NodeRule rule = RuleOf(node);
  for (const OnnxVar input : inputs) {
    if (rule == nullptr || unknown || import_.second_count(input) == nullptr) continue;
    Miss(node, false, "the sizes of two axes of an input depend on data", scope);
    return absl::OkStatus();
  }
  if (rule != nullptr && !unknown) return (this->*rule)(node, inputs, scope);
  if (rule != nullptr || function != nullptr) {  // of something that is missing
    DefineUnknown(node, foldable, scope);
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
  for (size_t i = 0; i < inputs.size() && !unknown; ++i) {
    if (inputs[i] == kNoOnnxVar || import_.count(inputs[i]) == nullptr) continue;
    const bool two = import_.second_count(inputs[i]) != nullptr;
    if (row->counted != nullptr && (row->two_counts || !two)) continue;
    const std::string name = Shown(node.input(static_cast<int>(i)));
    Miss(node, false,
         two ? absl::StrCat("the sizes of two axes of '", name, "' depend on data")
             : absl::StrCat("the size of '", name, "' depends on data"),
         scope);
    return absl::OkStatus();
  }
  if (unknown) {
    DefineUnknown(node, foldable || row->shape_only, scope);
    return absl::OkStatus();
  }
  return ReadOperator(node, inputs, read, scope);
}

absl::Status OnnxNodeReader::ReadOperator(const NodeProto& node, const std::vector<OnnxVar>& inputs,
                                          const Read& read, OnnxScope& scope) {
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
    // Results have the dtype of the first floats: an image, and not the grid that samples it.
    const auto floats = std::find_if(inputs.begin(), inputs.end(), [&](OnnxVar var) {
      return var != kNoOnnxVar && import_.sequence(var) == nullptr &&
             IsFloat(import_.type(var).dtype);
    });
    narrowed = narrowed && import_.type(*floats).dtype == DType::kFloat64;
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
  const bool by_rule =
      (counted || ranged || (row.takes_bound && reading.has_bound())) && row.counted != nullptr;
  OnnxVars vars = by_rule ? row.counted(reading, function) : function(reading);
  if (reading.ok() && domain.empty() && !vars.empty()) NoteQuantities(reading, function, vars);
  const absl::Status status = reading.Finish();
  if (absl::IsUnimplemented(status)) {
    std::string why(status.message());
    if (row.takes_bound && !reading.has_bound() && absl::EndsWith(why, "known before the run")) {
      absl::StrAppend(&why, "; --bound ", Shown(node.output(0)), "=NUMBER plans for as many");
    }
    Miss(node, constant, why, scope);
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
void OnnxNodeReader::NoteRanges(const OnnxRow& row, const std::vector<OnnxVar>& inputs,
                                OnnxVars& vars,
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

}  // namespace ashlar
