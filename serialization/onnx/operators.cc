#include "serialization/onnx/operators.h"

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
    {"Reduce", OnnxReduce},
    {"RelayoutFormat", OnnxRelayout},
    {"Reshape", OnnxReshape},
    {"Resize", OnnxResize},
    {"ScatterElements", OnnxScatterElements},
    {"ScatterND", OnnxScatterND},
    {"Softmax", OnnxSoftmax},
    {"Subtensor", OnnxSubtensor},
    {"TypeCvt", OnnxTypeCvt},
};

}  // namespace

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
