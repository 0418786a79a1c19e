// SequenceMap: its graph is read once for each element of a sequence.
#include <algorithm>
#include <utility>

#include "graph/status.h"
#include "serialization/onnx/import/unroll.h"

namespace ashlar {

using onnx::GraphProto;
using onnx::NodeProto;

absl::Status OnnxNodeReader::ReadSequenceMap(const NodeProto& node,
                                             const std::vector<OnnxVar>& inputs, OnnxScope& scope) {
  ASHLAR_RETURN_IF_ERROR(CheckOnnxNesting(scope));
  ASHLAR_ASSIGN_OR_RETURN(const GraphProto* const body, OnnxGraphOf(node, "body"));
  if (static_cast<size_t>(body->input_size()) != inputs.size() ||
      body->output_size() < node.output_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the body has ", body->input_size(), " inputs and ", body->output_size(), " outputs, for ",
        inputs.size(), " inputs and ", node.output_size(), " outputs"));
  }
  const auto elements_of = [&](OnnxVar var) {
    return var == kNoOnnxVar ? nullptr : import_.sequence(var);
  };
  if (inputs.empty() || elements_of(inputs[0]) == nullptr) {
    return absl::InvalidArgumentError("input 0 is no sequence");
  }
  const auto size = static_cast<int64_t>(elements_of(inputs[0])->size());
  for (const OnnxVar input : inputs) {
    if (input == kNoOnnxVar) return absl::InvalidArgumentError("an input is missing");
    const std::vector<OnnxVar>* const elements = elements_of(input);
    if (elements == nullptr || static_cast<int64_t>(elements->size()) == size) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("sequences of ", size, " and ", elements->size(), " elements"));
  }
  Unrolled map = {node, *body, OnnxNode(node, kNewestOperatorSet, inputs, {}, import_, external_)};
  for (const onnx::ValueInfoProto& output : body->output()) map.outputs.push_back(output.name());
  ASHLAR_ASSIGN_OR_RETURN(map.order, OrderOf(body->node(), map.outputs));
  OnnxScope around = scope.Inside("");  // the body's initializers are read once
  GraphProto tensors;
  ASHLAR_RETURN_IF_ERROR(AddTensorsOf(*body, tensors, around));
  if (size > kMostUnrolledNodes / std::max<int64_t>(1, body->node_size())) {
    Miss(node, false,
         absl::StrCat("its ", size, " elements by ", body->node_size(), " nodes are more than ",
                      kMostUnrolledNodes, " nodes to unroll"),
         scope);
    return absl::OkStatus();
  }
  std::vector<std::vector<OnnxVar>> results(static_cast<size_t>(node.output_size()));
  for (int64_t i = 0; i < size; ++i) {
    std::vector<OnnxVar> given;
    for (const OnnxVar input : inputs) {
      const std::vector<OnnxVar>* const elements = elements_of(input);
      given.push_back(elements == nullptr ? input : (*elements)[static_cast<size_t>(i)]);
    }
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<OnnxVar> outputs,
                            ReadIteration(map, given, i, around));
    for (size_t k = 0; k < results.size(); ++k) {
      if (import_.unknown(outputs[k])) {  // of something that is missing
        DefineUnknown(node, false, scope);
        return absl::OkStatus();
      }
      // Readers of a sequence would take fill for elements.
      if (import_.count(outputs[k]) != nullptr) {
        Miss(node, false, "the size of an element depends on data", scope);
        return absl::OkStatus();
      }
      if (elements_of(outputs[k]) != nullptr) {
        return absl::InvalidArgumentError("an output of the body is a sequence");
      }
      results[k].push_back(outputs[k]);
    }
  }
  import_.BeginNode(absl::StrCat(scope.prefix, NameOfOnnx(node)));
  for (size_t k = 0; k < results.size(); ++k) {
    Define(node, static_cast<int>(k), import_.AddSequence(std::move(results[k])), scope);
  }
  return absl::OkStatus();
}

}  // namespace ashlar
