#include "serialization/onnx/operators.h"

namespace ashlar {
namespace {

struct Row {
  const char* type;
  OnnxFunction function;
};

constexpr Row kRows[] = {
    {"BatchNorm", OnnxBatchNorm},
    {"Concat", OnnxConcat},
    {"ConvBiasForward", OnnxConvBias},
    {"ConvolutionForward", OnnxConvolution},
    {"Dimshuffle", OnnxDimshuffle},
    {"Elemwise", OnnxElemwise},
    {"GetVarShape", OnnxGetVarShape},
    {"LRN", OnnxLrn},
    {"MatrixMul", OnnxMatrixMul},
    {"PoolingForward", OnnxPooling},
    {"Reduce", OnnxReduce},
    {"RelayoutFormat", OnnxRelayout},
    {"Reshape", OnnxReshape},
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
