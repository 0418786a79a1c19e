// Finds 8-bit operators for the operators between DequantizeLinear and QuantizeLinear.
#include <algorithm>
#include <cmath>

#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/elemwise_multi_type.h"
#include "opr/pooling.h"
#include "opr/quantized_conv.h"
#include "opr/type_cvt.h"
#include "serialization/onnx/import/quantities.h"

namespace ashlar {
namespace {

const HostTensor* OnlyNumber(OnnxNode& node, OnnxVar var) {
  const HostTensor* const known = node.constant(var);
  return known != nullptr && known->num_elements() == 1 ? known : nullptr;
}

// Returns the known weights rearranged to `shape`: element i is `weights` at `from(i)`. Returns
// nullopt if one of them does not have 8 bits.
template <typename From>
std::optional<HostTensor> BytesOf(const HostTensor& weights, const Shape& shape, const From& from) {
  HostTensor bytes = HostTensor::Zeros(DType::kInt8, shape);
  for (int64_t i = 0; i < bytes.num_elements(); ++i) {
    const double weight = weights.At(from(i));
    if (weight < -128 || weight > 127) return std::nullopt;
    bytes.Set(i, weight);
  }
  return bytes;
}

std::vector<float> FloatsOf(const HostTensor& tensor) {
  std::vector<float> values;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    values.push_back(static_cast<float>(tensor.At(i)));
  }
  return values;
}

// Returns an 8-bit convolution of image, filter and bias.
OnnxIntegerOperator Convolution(OnnxNode& node, const ConvolutionParam& param, OnnxVar image,
                                const HostTensor& bytes, OnnxVar scale, const HostTensor* bias,
                                int64_t channels) {
  const HostTensor* const scales = node.constant(scale);
  if (!node.ok() || scales == nullptr) return {};
  const absl::StatusOr<Quantization> of_filter =
      Quantization::Make(DType::kQuantizedS8, FloatsOf(*scales));
  if (!of_filter.ok()) return {};
  const absl::StatusOr<Quantization> of_sums = Quantization::Make(
      DType::kQuantizedS32, SumScales(node.type_of(image).quantization, *of_filter));
  if (!of_sums.ok()) return {};
  const HostTensor none = HostTensor::Zeros(DType::kInt32, {channels});
  const HostTensor addends = (bias == nullptr ? none : *bias).Reshaped({1, channels, 1, 1});
  return {std::make_shared<const ConvBiasForward>(ConvBiasParam{param}),
          {image, node.Constant(bytes.As(DType::kQuantizedS8, *of_filter)),
           node.Constant(addends.As(DType::kQuantizedS32, *of_sums))}};
}

bool IsPlain(const OnnxQuantity& quantity) {
  return quantity.least == -std::numeric_limits<double>::infinity() &&
         quantity.greatest == std::numeric_limits<double>::infinity();
}
bool IsRectified(const OnnxQuantity& quantity) {
  return quantity.least == 0 && quantity.greatest == std::numeric_limits<double>::infinity();
}

// Returns the operator with the type of its output, clamped; null if there is none.
OperatorPtr Completed(const OnnxQuantity& quantity, const OutputType& output) {
  const Operator& op = *quantity.made_by.op;
  if (const auto* conv = dynamic_cast<const ConvBiasForward*>(&op)) {
    ConvBiasParam param = conv->param();
    param.output = output;
    if (IsRectified(quantity)) {
      param.nonlineMode = ScalarFunction::kRelu;
    } else if (std::isfinite(quantity.least) && std::isfinite(quantity.greatest)) {
      param.nonlineMode = ScalarFunction::kClamp;
      param.parameters = {quantity.least, quantity.greatest};
    } else if (!IsPlain(quantity)) {
      return nullptr;
    }
    return std::make_shared<const ConvBiasForward>(param);
  }
  if (const auto* function = dynamic_cast<const ElemwiseMultiType*>(&op)) {
    ElemwiseMultiTypeParam param = function->param();
    param.output = output;
    if (IsRectified(quantity) && param.mode == ScalarFunction::kAdd) {
      param.mode = ScalarFunction::kFuseAddRelu;
    } else if (!IsPlain(quantity)) {
      return nullptr;
    }
    return std::make_shared<const ElemwiseMultiType>(param);
  }
  if (!IsPlain(quantity)) return nullptr;
  if (const auto* pooling = dynamic_cast<const PoolingForward*>(&op)) {
    PoolingParam param = pooling->param();
    if (param.mode != PoolingMode::kMax) param.output = output;
    return std::make_shared<const PoolingForward>(param);
  }
  return quantity.made_by.op;
}

}  // namespace

std::optional<TensorType> QuantizedTypeOf(OnnxNode& node, const OnnxQuantized& to,
                                          const Shape& shape) {
  if (!node.ok() || SizeOf(to.dtype) != 1) return std::nullopt;
  const HostTensor* const scale = OnlyNumber(node, to.scale);
  const HostTensor* const zero = OnlyNumber(node, to.zero);
  if (scale == nullptr || (zero == nullptr && to.zero != kNoOnnxVar)) return std::nullopt;
  OutputType output;
  output.dtype = to.dtype == DType::kInt8 ? DType::kQuantizedS8 : DType::kQuantized8Asymm;
  output.scale = static_cast<float>(scale->At(0));
  output.zero_point = zero == nullptr ? 0 : static_cast<int64_t>(zero->At(0));
  const absl::StatusOr<TensorType> type = QuantizedType(output, shape);
  return type.ok() ? std::optional<TensorType>(*type) : std::nullopt;
}

OnnxVar AsQuantized(OnnxNode& node, OnnxVar stored, const OnnxQuantization& quantization) {
  if (!node.ok() || node.constant(stored) != nullptr || SizeOf(node.dtype(stored)) != 1) {
    return kNoOnnxVar;
  }
  const std::optional<TensorType> type = QuantizedTypeOf(
      node, {quantization.scale, quantization.zero, node.dtype(stored)}, node.shape(stored));
  if (!type) return kNoOnnxVar;
  // If the integers come from a quantised var of this type, returns that var.
  const auto* made = dynamic_cast<const TypeCvt*>(node.producer(stored));
  if (made != nullptr && node.type_of(node.operands(stored)[0]) == *type) {
    return node.operands(stored)[0];
  }
  return node.Add<TypeCvt>(
      {type->dtype, type->quantization.scale(), type->quantization.zero_point()}, {stored});
}

OnnxIntegerOperator IntegerConvolution(OnnxNode& node, OnnxVar linear, const OnnxQuantity& x,
                                       const OnnxQuantity& weights, const HostTensor* bias) {
  if (!node.ok() || x.quantized == kNoOnnxVar) return {};
  const auto* conv = dynamic_cast<const ConvolutionForward*>(node.producer(linear));
  const HostTensor* const known = node.constant(weights.integers);
  if (conv == nullptr || known == nullptr || node.rank(x.quantized) != 4) return {};
  const Shape shape = node.shape(node.operands(linear)[1]);  // with groups as a dimension
  const std::optional<HostTensor> bytes = BytesOf(*known, shape, [](int64_t i) { return i; });
  if (!bytes) return {};
  ConvolutionParam param = conv->param();
  param.compute_mode = ComputeMode::kDefault;
  return Convolution(node, param, x.quantized, *bytes, weights.scale, bias, known->shape()[0]);
}

OnnxIntegerOperator IntegerProduct(OnnxNode& node, const OnnxQuantity& x,
                                   const OnnxQuantity& weights, int channels,
                                   const HostTensor* bias) {
  if (!node.ok() || x.quantized == kNoOnnxVar) return {};
  const HostTensor* const known = node.constant(weights.integers);
  if (known == nullptr || known->shape().rank() != 2) return {};
  const int64_t outputs = known->shape()[channels], depth = known->shape()[1 - channels];
  const std::optional<HostTensor> bytes = BytesOf(*known, {outputs, depth, 1, 1}, [&](int64_t i) {
    return channels == 0 ? i : i % depth * outputs + i / depth;
  });
  const Shape shape = node.shape(x.quantized);
  if (!bytes || depth == 0 || shape.rank() < 2 || shape[shape.rank() - 1] != depth) return {};
  const OnnxVar rows = node.Reshaped(x.quantized, {shape.num_elements() / depth, depth, 1, 1});
  return Convolution(node, {}, rows, *bytes, weights.scale, bias, outputs);
}

OnnxIntegerOperator IntegerMean(OnnxNode& node, const OnnxQuantity& x) {
  if (!node.ok() || x.quantized == kNoOnnxVar) return {};
  const Shape& image = node.shape(x.quantized);
  PoolingParam param;
  param.mode = PoolingMode::kAverage;
  param.window_h = param.stride_h = image[2];
  param.window_w = param.stride_w = image[3];
  return {std::make_shared<const PoolingForward>(param), {x.quantized}};
}

namespace {

// Returns the operands of the function that computes `result`. Changes `mode` if it is the end of a
// function that is written as two: x * sigmoid(x), and a product and a sum by channel, as norms are
// written.
std::vector<OnnxVar> FunctionOperands(const OnnxNode& node, OnnxVar result, ScalarFunction& mode) {
  const absl::Span<const OnnxVar> operands = node.operands(result);
  const auto made_by = [&](OnnxVar var, ScalarFunction function) {
    const Operator* const op = node.producer(var);
    return op != nullptr && IsElemwise(*op, function);
  };
  if (mode == ScalarFunction::kAdd && made_by(operands[0], ScalarFunction::kMul) &&
      node.constant(operands[1]) != nullptr) {
    mode = ScalarFunction::kFuseMulAdd3;
    const absl::Span<const OnnxVar> factors = node.operands(operands[0]);
    return {factors[0], factors[1], operands[1]};
  }
  for (size_t i = 0; i < 2 && mode == ScalarFunction::kMul; ++i) {
    const OnnxVar x = operands[i], gate = operands[1 - i];
    if (!made_by(gate, ScalarFunction::kSigmoid) || node.operands(gate)[0] != x) continue;
    mode = ScalarFunction::kSilu;
    return {x};
  }
  return {operands.begin(), operands.end()};
}

// Returns a function of 8-bit tensors and constants of Float32.
OnnxIntegerOperator IntegerFunctionOf(const OnnxNode& node, OnnxVar result, const Elemwise& op) {
  ElemwiseMultiTypeParam param{op.param()};
  OnnxIntegerOperator made;
  const Shape& shape = node.shape(result);
  int first = -1;
  for (const OnnxVar operand : FunctionOperands(node, result, param.mode)) {
    const OnnxQuantity* const quantity = node.quantity(operand);
    const bool bytes = quantity != nullptr && quantity->quantized != kNoOnnxVar;
    const bool constant =
        node.constant(operand) != nullptr && node.dtype(operand) == DType::kFloat32;
    if (!bytes && !constant) return {};
    made.operands.push_back(bytes ? quantity->quantized : operand);
    if (bytes && first < 0 && node.shape(operand) == shape) {
      first = static_cast<int>(made.operands.size()) - 1;
    }
  }
  const ScalarRow& row = RowOf(param.mode);
  if (row.arity > 1 && !HasByteFunction(param.mode)) return {};
  if (first < 0 || (first > 0 && (first > 1 || !row.commutative))) return {};
  std::swap(made.operands[0], made.operands[static_cast<size_t>(first)]);
  made.op = std::make_shared<const ElemwiseMultiType>(std::move(param));
  return made;
}

}  // namespace

OnnxIntegerOperator IntegerOperator(const OnnxNode& node, OnnxVar result) {
  const Operator* const op = node.producer(result);
  if (op == nullptr) return {};
  if (const auto* function = dynamic_cast<const Elemwise*>(op)) {
    return IntegerFunctionOf(node, result, *function);
  }
  OnnxIntegerOperator made;
  for (const OnnxVar operand : node.operands(result)) {
    const OnnxQuantity* const quantity = node.quantity(operand);
    if (quantity == nullptr || quantity->quantized == kNoOnnxVar) return {};
    made.operands.push_back(quantity->quantized);
  }
  if (const auto* pooling = dynamic_cast<const PoolingForward*>(op)) {
    if (pooling->param().mode == PoolingMode::kAverage) return {};
    made.op = std::make_shared<const PoolingForward>(pooling->param());
  } else if (const auto* concat = dynamic_cast<const Concat*>(op)) {
    made.op = std::make_shared<const Concat>(concat->param());
  } else {
    return {};
  }
  return made;
}

OnnxVar MadeInIntegers(OnnxNode& node, const OnnxQuantity& quantity, const TensorType& type) {
  if (quantity.kind == OnnxQuantity::Kind::kElements) {
    const OnnxVar quantized = quantity.quantized;
    if (quantized == kNoOnnxVar || node.shape(quantized) != type.shape) return kNoOnnxVar;
    if (node.type_of(quantized) == type) return quantized;
    return node.Add<ElemwiseMultiType>({{ScalarFunction::kIdentity}, OutputTypeOf(type)},
                                       {quantized});
  }
  if (quantity.made_by.op == nullptr) return kNoOnnxVar;
  const OperatorPtr op = Completed(quantity, OutputTypeOf(type));
  if (op == nullptr) return kNoOnnxVar;
  std::vector<OnnxVar> operands = quantity.made_by.operands;
  if (dynamic_cast<const Concat*>(op.get()) != nullptr) {  // parts have the output's type
    for (OnnxVar& part : operands) {
      if (node.type_of(part).quantization == type.quantization &&
          node.type_of(part).dtype == type.dtype) {
        continue;
      }
      part = node.Add<ElemwiseMultiType>({{ScalarFunction::kIdentity}, OutputTypeOf(type)}, {part});
    }
  }
  std::vector<InputInfo> infos;
  for (const OnnxVar operand : operands) {
    infos.push_back({node.type_of(operand), node.constant(operand)});
  }
  const absl::StatusOr<std::vector<TensorType>> made = op->Infer(infos);
  if (!made.ok() || (*made)[0].dtype != type.dtype ||
      (*made)[0].quantization != type.quantization ||
      (*made)[0].shape.num_elements() != type.shape.num_elements()) {
    return kNoOnnxVar;
  }
  return node.Reshaped(node.AddOperator(op, std::move(operands))[0], type.shape);
}

}  // namespace ashlar
