// Exports operators as ONNX nodes.
#ifndef ASHLAR_SERIALIZATION_ONNX_EXPORT_OPERATORS_H_
#define ASHLAR_SERIALIZATION_ONNX_EXPORT_OPERATORS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "opr/elemwise.h"
#include "serialization/onnx/export/model.h"

namespace ashlar {

// A node of the graph being exported: its values in the model, and ONNX nodes that carry its name.
//
// Quantised tensors are integers in the model. A node reads them as Float32 after a
// DequantizeLinear, and its results pass through a QuantizeLinear (Stored). Programs that recognise
// such graphs compute them with integers, as Ashlar's operators do.
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
  // The same without converting quantised types to Float32.
  const TensorType& stored_input_type(int i) const { return graph_.var(node_.inputs[i]).type; }
  const TensorType& stored_output_type(int i = 0) const {
    return graph_.var(node_.outputs[i]).type;
  }
  const HostTensor* constant(int i) const { return graph_.constant(node_.inputs[i]); }
  std::vector<InputInfo> infos() const { return graph_.InputInfos(node_); }

  // Whether the model may use operators newer than kWidestOnnxSet.
  bool rich() const { return model_.operator_set() >= kRichestOnnxSet; }

  std::string input(int i);
  // Returns input 0 of an operator whose input 1 may be a Float32 filter. After a DequantizeLinear,
  // ONNX Runtime would round such filters to 8 bits; a Concat of one tensor in between prevents
  // this.
  std::string InputOfFilter();
  // Returns the input reshaped to as many elements; a constant is stored in that shape.
  std::string input(int i, const Shape& shape);
  std::string Tensor(const HostTensor& tensor);
  // Returns the integers of a value, rounded to a quantised type. Values of other types are
  // returned unchanged.
  std::string Stored(const std::string& value, const TensorType& type);
  // Returns the Float32 values of the integers of a quantised type to which `value` is rounded.
  std::string Rounded(const std::string& value, const TensorType& type) {
    return Dequantized(Stored(value, type), type);
  }
  // Returns the stored integers of input 0.
  std::string StoredInput() { return model_.ValueOf(node_.inputs[0]); }
  std::string Ints(const std::vector<int64_t>& values) {
    return model_.AddInts(node_.name + "/ints", values);
  }
  // Adds a scalar in the dtype of the output.
  std::string Scalar(double value) {
    return model_.AddScalar(node_.name + "/scalar", output_type().dtype, value);
  }
  std::string Add(const char* op_type, std::vector<std::string> inputs,
                  const std::vector<OnnxAttribute>& attributes = {}) {
    return model_.AddNode(node_.name, op_type, std::move(inputs), attributes);
  }
  // Adds another output to the node added last.
  std::string AddOutput() { return model_.AddOutput(); }

 private:
  std::string Dequantized(std::string stored, const TensorType& type);
  // Returns value, scale and zero point of a quantised type, as inputs of QuantizeLinear or
  // DequantizeLinear.
  std::vector<std::string> StepsOf(std::string value, const TensorType& type);

  const Graph& graph_;
  const OperatorNode& node_;
  OnnxModel& model_;
  std::vector<TensorType> input_types_, output_types_;  // quantised types as Float32
};

// The values of an operator's outputs, in order; usually one.
struct OnnxValues : std::vector<std::string> {
  using vector::vector;
  OnnxValues(std::string value) { push_back(std::move(value)); }
  bool stored = false;  // outputs of quantised types are already integers
};

// Adds nodes that compute the outputs. Returns Unimplemented with the feature that ONNX lacks.
using OnnxFunction = absl::StatusOr<OnnxValues> (*)(OnnxEmitter& emitter);

// Returns null for a type without an ONNX counterpart.
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
absl::StatusOr<OnnxValues> OnnxPoolingRows(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxReduce(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxRelayout(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxReshape(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxResize(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxResizeBytes(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxScatterElements(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxScatterND(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxSoftmax(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxSubtensor(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxTopK(OnnxEmitter& emitter);
absl::StatusOr<OnnxValues> OnnxTypeCvt(OnnxEmitter& emitter);

// Adds a scalar function of the inputs: an Elemwise, or the activation of a ConvBiasForward.
absl::StatusOr<std::string> OnnxScalarFunction(OnnxEmitter& emitter, const ElemwiseParam& param,
                                               const std::vector<std::string>& inputs);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_EXPORT_OPERATORS_H_
