// Computes single ONNX nodes for tests, given as protobuf's text.
#ifndef ASHLAR_TESTS_SERIALIZATION_ONNX_IMPORT_COMPUTED_NODE_H_
#define ASHLAR_TESTS_SERIALIZATION_ONNX_IMPORT_COMPUTED_NODE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "tests/serialization/onnx/read_text.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {

// Returns the number of a dtype's type in ONNX; 0 if it is not one of these.
inline int OnnxTypeOf(DType dtype) {
  constexpr std::pair<DType, int> kTypes[] = {
      {DType::kFloat32, 1},  {DType::kInt8, 3},    {DType::kUint16, 4}, {DType::kInt16, 5},
      {DType::kInt32, 6},    {DType::kInt64, 7},   {DType::kBool, 9},   {DType::kFloat16, 10},
      {DType::kFloat64, 11}, {DType::kUint32, 12}, {DType::kUint64, 13}};
  for (const auto& [type, number] : kTypes) {
    if (type == dtype) return number;
  }
  return 0;
}

using NamedInputs = std::vector<std::pair<std::string, HostTensor>>;

// Returns a model of one node: `node` has its type and attributes. Its inputs are the graph's, and
// its outputs y0, y1, ...; `more` is the rest of the graph.
inline std::string OneNodeText(const std::string& node, const NamedInputs& inputs, int outputs,
                               const std::string& more = "") {
  std::string text =
      "ir_version: 8 opset_import { version: 28 } opset_import { domain: 'ai.onnx.ml' version: 5 } "
      "opset_import { domain: 'ai.onnx.preview' version: 1 } opset_import { domain: "
      "'ai.onnx.preview.training' version: 1 } graph { name: 'g' ";
  std::string of_node;
  for (const auto& [name, value] : inputs) {
    absl::StrAppend(&of_node, "input: '", name, "' ");
    if (name.empty()) continue;
    absl::StrAppend(&text, "input ", ValueText(name, value.shape(), OnnxTypeOf(value.dtype())));
  }
  for (int i = 0; i < outputs; ++i) {
    absl::StrAppend(&of_node, "output: 'y", i, "' ");
    absl::StrAppend(&text, "output { name: 'y", i, "' } ");
  }
  return absl::StrCat(text, "node { ", node, " ", of_node, "} ", more, " }");
}

// Returns the outputs; none after an error, which fails the test. An input without a name is
// absent.
inline std::vector<HostTensor> ComputedNode(const std::string& node, const NamedInputs& inputs,
                                            int outputs = 1, const std::string& more = "") {
  const absl::StatusOr<Graph> graph = ReadText(OneNodeText(node, inputs, outputs, more));
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  absl::flat_hash_map<std::string, HostTensor> given;
  for (const auto& [name, value] : inputs) {
    if (!name.empty()) given[name] = value;
  }
  return Value(EvaluateGraph(*graph, given));
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_ONNX_IMPORT_COMPUTED_NODE_H_
