#include "serialization/onnx/export/operators.h"

namespace ashlar {
namespace {

struct Row {
  const char* type;
  OnnxFunction function;
};

constexpr Row kRows[] = {
    {"ArgReduce", OnnxArgReduce},
    {"BatchNorm", OnnxBatchNorm},
    {"Concat", OnnxConcat},
    {"ConvBiasForward", OnnxConvBias},
    {"ConvolutionBackwardData", OnnxConvolutionBackwardData},
    {"ConvolutionForward", OnnxConvolution},
    {"CumSum", OnnxCumSum},
    {"Dimshuffle", OnnxDimshuffle},
    {"Elemwise", OnnxElemwise},
    {"ElemwiseMultiType", OnnxElemwiseMultiType},
    {"Expand", OnnxExpand},
    {"Gather", OnnxGather},
    {"GatherElements", OnnxGatherElements},
    {"GatherND", OnnxGatherND},
    {"GetVarShape", OnnxGetVarShape},
    {"GridSample", OnnxGridSample},
    {"IntegerElemwise", OnnxIntegerElemwise},
    {"LRN", OnnxLrn},
    {"MatrixMul", OnnxMatrixMul},
    {"Pad", OnnxPad},
    {"PoolingForward", OnnxPooling},
    {"PoolingRows", OnnxPoolingRows},
    {"Reduce", OnnxReduce},
    {"RelayoutFormat", OnnxRelayout},
    {"Reshape", OnnxReshape},
    {"Resize", OnnxResize},
    {"ResizeBytes", OnnxResizeBytes},
    {"ScatterElements", OnnxScatterElements},
    {"ScatterND", OnnxScatterND},
    {"Softmax", OnnxSoftmax},
    {"Subtensor", OnnxSubtensor},
    {"TopK", OnnxTopK},
    {"TypeCvt", OnnxTypeCvt},
};

// Returns the type that a Float32 operator would have instead.
TensorType AsFloats(const TensorType& type) {
  if (!IsQuantized(type.dtype)) return type;
  return {DType::kFloat32, type.shape, type.format, {}};
}

// Returns the axis with as many elements as there are scales, after dimensions of 1; -1 if there is
// none.
int64_t AxisOfScales(const Shape& shape, int64_t scales) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == scales) return axis;
    if (shape[axis] != 1) break;
  }
  return -1;
}

}  // namespace

OnnxEmitter::OnnxEmitter(const Graph& graph, const OperatorNode& node, OnnxModel& model)
    : graph_(graph), node_(node), model_(model) {
  for (const int var : node.inputs) input_types_.push_back(AsFloats(graph.var(var).type));
  for (const int var : node.outputs) output_types_.push_back(AsFloats(graph.var(var).type));
}

std::vector<std::string> OnnxEmitter::StepsOf(std::string value, const TensorType& type) {
  const absl::Span<const float> scales = type.quantization.scales();
  const int64_t count = static_cast<int64_t>(scales.size());
  const Shape shape = count == 1 ? Shape{} : Shape{count};
  std::vector<std::string> steps = {std::move(value)};
  steps.push_back(model_.AddTensor(node_.name + "/scale",
                                   HostTensor::FromValues<float>(DType::kFloat32, shape, scales)));
  if (type.dtype == DType::kQuantizedS32) return steps;
  HostTensor zero_points = HostTensor::Zeros(StoredAs(type.dtype), shape);
  for (int64_t i = 0; i < count; ++i) zero_points.Set(i, type.quantization.zero_point());
  steps.push_back(model_.AddTensor(node_.name + "/zero_point", zero_points));
  return steps;
}

std::string OnnxEmitter::Dequantized(std::string stored, const TensorType& type) {
  if (!IsQuantized(type.dtype)) return stored;
  const int64_t scales = static_cast<int64_t>(type.quantization.scales().size());
  std::vector<OnnxAttribute> attributes;
  if (scales > 1) attributes.push_back({"axis", AxisOfScales(type.shape, scales)});
  return Add("DequantizeLinear", StepsOf(std::move(stored), type), attributes);
}

std::string OnnxEmitter::Stored(const std::string& value, const TensorType& type) {
  if (!IsQuantized(type.dtype)) return value;
  return Add("QuantizeLinear", StepsOf(value, type));
}

std::string OnnxEmitter::input(int i) {
  return Dequantized(model_.ValueOf(node_.inputs[i]), stored_input_type(i));
}

std::string OnnxEmitter::InputOfFilter() {
  const OperatorNode& maker = graph_.node(graph_.var(node_.inputs[0]).producer);
  const bool dequantized =
      IsQuantized(stored_input_type(0).dtype) ||
      (maker.op->type() == "TypeCvt" && IsQuantized(graph_.var(maker.inputs[0]).type.dtype));
  if (!dequantized || constant(1) == nullptr || IsQuantized(stored_input_type(1).dtype)) {
    return input(0);
  }
  return Add("Concat", {input(0)}, {{"axis", int64_t{0}}});
}

std::string OnnxEmitter::Tensor(const HostTensor& tensor) {
  const TensorType type = {tensor.dtype(), tensor.shape(), Format::kDefault, tensor.quantization()};
  return Dequantized(model_.AddTensor(node_.name, tensor), type);
}

OnnxFunction FindOnnxFunction(absl::string_view operator_type) {
  for (const Row& row : kRows) {
    if (operator_type == row.type) return row.function;
  }
  return nullptr;
}

std::string OnnxEmitter::input(int i, const Shape& shape) {
  if (input_type(i).shape == shape) return input(i);
  if (const HostTensor* value = constant(i)) return Tensor(value->Reshaped(shape));
  return Add("Reshape", {input(i), Ints({shape.dims().begin(), shape.dims().end()})});
}

}  // namespace ashlar
