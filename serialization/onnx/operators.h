// What each operator is in ONNX.
#ifndef ASHLAR_SERIALIZATION_ONNX_OPERATORS_H_
#define ASHLAR_SERIALIZATION_ONNX_OPERATORS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "opr/elemwise.h"
#include "serialization/onnx/model.h"

namespace ashlar {

// A node of the graph on its way into a model: its values there, and nodes that carry its name.
class OnnxEmitter {
 public:
  OnnxEmitter(const Graph& graph, const OperatorNode& node, OnnxModel& model)
      : graph_(graph), node_(node), model_(model) {}

  template <typename Op>
  const Op& op() const {
    return static_cast<const Op&>(*node_.op);
  }
  size_t num_inputs() const { return node_.inputs.size(); }
  const TensorType& input_type(int i) const { return graph_.var(node_.inputs[i]).type; }
  const TensorType& output_type() const { return graph_.var(node_.outputs[0]).type; }
  const HostTensor* constant(int i) const { return graph_.constant(node_.inputs[i]); }
  std::vector<InputInfo> infos() const { return graph_.InputInfos(node_); }

  std::string input(int i) { return model_.ValueOf(node_.inputs[i]); }
  // The input under another shape of as many elements; a constant is stored that way.
  std::string input(int i, const Shape& shape);
  std::string Tensor(const HostTensor& tensor) { return model_.AddTensor(node_.name, tensor); }
  std::string Ints(const std::vector<int64_t>& values) {
    return model_.AddInts(node_.name + "/ints", values);
  }
  // In the dtype of the output.
  std::string Scalar(double value) {
    return model_.AddScalar(node_.name + "/scalar", output_type().dtype, value);
  }
  std::string Add(const char* op_type, std::vector<std::string> inputs,
                  const std::vector<OnnxAttribute>& attributes = {}) {
    return model_.AddNode(node_.name, op_type, std::move(inputs), attributes);
  }

 private:
  const Graph& graph_;
  const OperatorNode& node_;
  OnnxModel& model_;
};

// Adds nodes that compute output 0 and returns its value; Unimplemented says what ONNX lacks.
using OnnxFunction = absl::StatusOr<std::string> (*)(OnnxEmitter& emitter);

// Null for a type that has no counterpart.
OnnxFunction FindOnnxFunction(absl::string_view operator_type);

// The families, each in a file of its own.
absl::StatusOr<std::string> OnnxBatchNorm(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxConcat(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxConvBias(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxConvolution(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxDimshuffle(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxElemwise(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxGetVarShape(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxLrn(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxMatrixMul(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxPooling(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxReduce(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxRelayout(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxReshape(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxSoftmax(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxSubtensor(OnnxEmitter& emitter);
absl::StatusOr<std::string> OnnxTypeCvt(OnnxEmitter& emitter);

// A scalar function of the inputs: an Elemwise, or the activation of a ConvBiasForward.
absl::StatusOr<std::string> OnnxScalarFunction(OnnxEmitter& emitter, const ElemwiseParam& param,
                                               const std::vector<std::string>& inputs);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_OPERATORS_H_
