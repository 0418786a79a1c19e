// An ONNX model under construction.
#ifndef ASHLAR_SERIALIZATION_ONNX_EXPORT_MODEL_H_
#define ASHLAR_SERIALIZATION_ONNX_EXPORT_MODEL_H_

#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"

namespace ashlar {

using OnnxAttribute =
    std::pair<const char*, std::variant<int64_t, float, const char*, std::vector<int64_t>>>;

onnx::TensorProto::DataType OnnxType(DType dtype);

// The operator set that most programs read, and the one that is used if the first lacks something.
inline constexpr int kWidestOnnxSet = 13, kRichestOnnxSet = 20;

// A model whose constants of more than 64 KiB have no elements, which are beside it by index of the
// initializer.
struct OnnxModelAndWeights {
  onnx::ModelProto model;
  std::map<int, HostTensor> weights;
};

// Returns the checksum of a constant.
using ConstantChecksum = std::function<uint64_t(const HostTensor& constant)>;

// A model whose values are identified by their names, as in ONNX. Every name is unique and valid
// UTF-8.
class OnnxModel {
 public:
  // Declares the graph's inputs, and reserves the names of its outputs. Large constants become
  // their checksums, unless `checksum` is empty.
  OnnxModel(const Graph& graph, int operator_set, ConstantChecksum checksum);
  int operator_set() const { return operator_set_; }

  // Returns the value of a var. A constant becomes an initializer when first requested.
  std::string ValueOf(int var);
  // Adds a constant.
  std::string AddTensor(absl::string_view hint, const HostTensor& tensor);
  std::string AddInts(absl::string_view hint, const std::vector<int64_t>& values);  // rank 1
  std::string AddScalar(absl::string_view hint, DType dtype, double value);         // rank 0

  // Adds another output to the node added last.
  std::string AddOutput();
  // Adds an ONNX node with one output, and returns the output. The names of both begin with `hint`.
  std::string AddNode(absl::string_view hint, const char* op_type, std::vector<std::string> inputs,
                      const std::vector<OnnxAttribute>& attributes = {});
  // Makes `value` the value of `var`, under the var's own name.
  void Bind(int var, const std::string& value);

  // Declares the graph's outputs, and returns the model.
  OnnxModelAndWeights Finish() &&;

 private:
  std::string Unique(absl::string_view hint);
  void Declare(onnx::ValueInfoProto& info, const std::string& name, const TensorType& type);

  const Graph& graph_;
  const int operator_set_;
  const ConstantChecksum checksum_;
  onnx::ModelProto model_;
  std::map<int, HostTensor> weights_;
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_map<std::string, int> suffixes_;       // last suffix tried, by name
  absl::flat_hash_map<int, std::string> values_;         // by var
  absl::flat_hash_map<std::string, std::string> bound_;  // by name before Bind: the name after it
  absl::flat_hash_map<int, std::string> reserved_;       // output names, by var
  std::vector<std::string> output_names_;                // in the order of Graph::outputs()
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_EXPORT_MODEL_H_
