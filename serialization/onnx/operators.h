// The ONNX node of each operator.
#ifndef ASHLAR_SERIALIZATION_ONNX_OPERATORS_H_
#define ASHLAR_SERIALIZATION_ONNX_OPERATORS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "opr/elemwise.h"
#include "serialization/onnx/model.h"

namespace ashlar {

// A node of the graph on its way into a model: its values there, and nodes that carry its name.
//
// Quantised tensors are integers in the model. Every node sees them as the Float32 that they stand
// for: it reads them behind a DequantizeLinear, and what it makes goes through a QuantizeLinear
// (Stored). Programs that know such graphs compute them with integers, as operators here do.
class OnnxEmitter {
 public:
  OnnxEmitter(const Graph& graph, const OperatorNode& node, OnnxModel& model);

  template <typename Op>
  const Op& op() const {
    return static_cast<const Op&>(*node_.op);
  }
  size_t num_inputs() const { return node_.inputs.size(); }
  const TensorType& input_type(int i) const { return input_types_[static_cast<size_t>(i)]; }
  const TensorType& output_type(int i = 0) const { return output_types_[static_cast<size_t>(i)]; }
  // The same with quantised types as they are.
  const TensorType& stored_input_type(int i) const { return graph_.var(node_.inputs[i]).type; }
  const TensorType& stored_output_type(int i = 0) const {
    return graph_.var(node_.outputs[i]).type;
  }
  const HostTensor* constant(int i) const { return graph_.constant(node_.inputs[i]); }
  std::vector<InputInfo> infos() const { return graph_.InputInfos(node_); }

  // Whether the model may have what is newer than kWidestOnnxSet.
  bool rich() const { return model_.operator_set() >= kRichestOnnxSet; }

  std::string input(int i);
  // Input 0 of an operator whose input 1 may be a filter of floats. ONNX Runtime rounds such
  // filters to 8 bits behind a DequantizeLinear; a Concat of one tensor between keeps them as they
  // are.
  std::string InputOfFilter();
  // The input under another shape of as many elements; a constant is stored that way.
  std::string input(int i, const Shape& shape);
  std::string Tensor(const HostTensor& tensor);
  // Rounded to a quantised type; other types have their values as they are.
  std::string Stored(const std::string& value, const TensorType& type);
  // The Float32 values of integers of a quantised type to which `value` is rounded.
  std::string Rounded(const std::string& value, const TensorType& type) {
    return Dequantized(Stored(value, type), type);
  }
  // The integers that input 0 is stored as.
  std::string StoredInput() { return model_.ValueOf(node_.inputs[0]); }
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
  // Another output of the node that was added last.
  std::string AddOutput() { return model_.AddOutput(); }

 private:
  std::string Dequantized(std::string stored, const TensorType& type);
  // Of a quantised type, as inputs of both operators that convert.
  std::vector<std::string> StepsOf(std::string value, const TensorType& type);

  const Graph& graph_;
  const OperatorNode& node_;
  OnnxModel& model_;
  std::vector<TensorType> input_types_, output_types_;  // quantised ones as Float32
};

// The values of an operator's outputs, in their order: most often one.
struct OnnxValues : std::vector<std::string> {
  using vector::vector;
  OnnxValues(std::string value) { push_back(std::move(value)); }
  bool stored = false;  // of quantised types: these are the integers already
};

// Adds nodes that compute the outputs; Unimplemented says what ONNX lacks.
using OnnxFunction = absl::StatusOr<OnnxValues> (*)(OnnxEmitter& emitter);

// Null for a type that has no counterpart.
OnnxFunction FindOnnxFunction(absl::string_view operator_type);

// The families, each in a file of its own.
absl::StatusOr<OnnxValues> OnnxArgReduce(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxBatchNorm(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxConcat(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxConvBias(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxConvolution(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxConvolutionBackwardData(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxCumSum(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxDimshuffle(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxElemwise(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxElemwiseMultiType(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxExpand(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxGather(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxGatherElements(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxGatherND(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxGetVarShape(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxGridSample(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxIntegerElemwise(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxLrn(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxMatrixMul(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxPad(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxPooling(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxReduce(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxRelayout(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxReshape(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxResize(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxScatterElements(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxScatterND(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxSoftmax(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxSubtensor(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxTopK(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxTypeCvt(OnnxEmitter& emitter);

// A scalar function of the inputs: an Elemwise, or the activation of a ConvBiasForward.
absl::StatusOr<std::string> OnnxScalarFunction(OnnxEmitter& emitter, const ElemwiseParam& param,
                                               const std::vector<std::string>& inputs);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_OPERATORS_H_
