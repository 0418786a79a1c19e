#include "serialization/tflite/import/node.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/status.h"
#include "opr/base/axis.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise_multi_type.h"
#include "opr/reshape.h"
#include "opr/type_cvt.h"
#include "serialization/tflite/import/byte_tables.h"

namespace ashlar {
namespace {

using F = ScalarFunction;
using tflite::Activation;

constexpr int kImageRank = 4;

// The fused activations, as scalar functions.
struct ActivationRow {
  Activation activation;
  ElemwiseParam function;
};
const ActivationRow kActivationRows[] = {
    {Activation::RELU, {F::kRelu, {}}},
    {Activation::RELU_N1_TO_1, {F::kClamp, {-1, 1}}},
    {Activation::RELU6, {F::kClamp, {0, 6}}},
    {Activation::TANH, {F::kTanh, {}}},
};

}  // namespace

std::vector<int64_t> TflitePattern(TfliteLayout to) {
  return to == TfliteLayout::kImage ? std::vector<int64_t>{0, 3, 1, 2}
                                    : std::vector<int64_t>{0, 2, 3, 1};
}

TfliteVar TfliteNode::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
  return kNoTfliteVar;
}

const TensorType& TfliteNode::type(TfliteVar var) const {
  static const TensorType* const none =
      new TensorType{DType::kFloat32, Shape{1, 1, 1, 1}};  // after an error
  return ok() && var != kNoTfliteVar ? graph_.type(var) : *none;
}

const HostTensor* TfliteNode::constant(TfliteVar var) const {
  return ok() && var != kNoTfliteVar ? graph_.constant(var) : nullptr;
}

TfliteVar TfliteNode::Input(int i, TfliteLayout layout) {
  if (!ok()) return kNoTfliteVar;
  if (!has(i)) return Invalid(num_inputs(), " inputs, of which ", i, " is missing");
  TfliteTensor& tensor = TensorOf(i);
  if (tensor.empty()) {
    const int index = InputIndex(i);
    if (!file_.is_constant(index)) {
      return Invalid("input ", i, " '", NameOfTflite(file_, index), "' is made by nothing before");
    }
    absl::StatusOr<HostTensor> value = file_.Constant(index);
    if (!value.ok()) return Fail(value.status());
    if (!file_.borrows()) {
      const absl::Status counted = graph_.CountCopied(value->bytes());
      if (!counted.ok()) return Fail(counted);
    }
    tensor.file = graph_.AddConstant(*std::move(value), NameOfTflite(file_, index));
  }
  TfliteVar& var = tensor.in(layout);
  if (var != kNoTfliteVar) return var;
  const TfliteVar other =
      tensor.in(layout == TfliteLayout::kFile ? TfliteLayout::kImage : TfliteLayout::kFile);
  if (rank(other) != kImageRank) {
    return Invalid("input ", i, " '", NameOfTflite(file_, InputIndex(i)), "' is ",
                   type(other).ToString(), ", expected {N,H,W,C}");
  }
  const TfliteVar permuted = Permuted(other, TflitePattern(layout));
  return var = permuted;
}

TfliteVar TfliteNode::Densified(int i) {
  if (!ok() || !has(i) || !file_.is_sparse(InputIndex(i))) return Input(i);
  const absl::StatusOr<TensorType> type = file_.TypeOf(InputIndex(i));
  if (!type.ok()) return Fail(type.status());
  const absl::Status counted = graph_.CountCopied(type->bytes());
  if (!counted.ok()) return Fail(counted);
  absl::StatusOr<HostTensor> dense = file_.Densified(InputIndex(i));
  if (!dense.ok()) return Fail(dense.status());
  return graph_.AddConstant(*std::move(dense), NameOfTflite(file_, InputIndex(i)));
}

TfliteLayout TfliteNode::LayoutOf(absl::Span<const int> inputs) {
  bool images = false;
  for (const int i : inputs) {
    if (!ok() || !has(i)) continue;
    const TfliteTensor& tensor = TensorOf(i);
    if (tensor.empty()) {
      if (rank(Input(i)) > kImageRank) return TfliteLayout::kFile;
      continue;
    }
    if (tensor.file != kNoTfliteVar && rank(tensor.file) > kImageRank) return TfliteLayout::kFile;
    images = images || tensor.file == kNoTfliteVar;
  }
  return images ? TfliteLayout::kImage : TfliteLayout::kFile;
}

TfliteVar TfliteNode::Operand(int i, TfliteLayout layout) {
  if (layout == TfliteLayout::kFile) return Input(i);
  if (!ok()) return kNoTfliteVar;
  if (!has(i)) return Input(i);
  if (!TensorOf(i).empty() && TensorOf(i).image != kNoTfliteVar) return TensorOf(i).image;
  const TfliteVar var = Input(i);
  const Shape& own = shape(var);
  if (own.rank() == kImageRank) return Image(i);
  if (own.rank() > kImageRank) return Invalid("input ", i, " is ", type(var).ToString());
  if (own.rank() == 0) return var;
  Shape full(std::vector<int64_t>(static_cast<size_t>(kImageRank - own.rank()), 1));
  for (const int64_t dim : own.dims()) full.push_back(dim);
  return Permuted(Reshaped(var, full), TflitePattern(layout));
}

int TfliteNode::Axis(int64_t axis, int rank, TfliteLayout layout) {
  const absl::StatusOr<int> normal = NormalizeAxis(axis, rank);
  if (!normal.ok()) {
    Fail(normal.status());
    return 0;
  }
  if (layout == TfliteLayout::kFile) return *normal;
  return static_cast<int>(TflitePattern(TfliteLayout::kFile)[static_cast<size_t>(*normal)]);
}

TfliteVar TfliteNode::DeclaredAs(int tensor, TfliteVar var) {
  if (!ok()) return kNoTfliteVar;
  const absl::StatusOr<TensorType> declared = file_.TypeOf(tensor);
  if (!declared.ok()) return Fail(declared.status());
  const TensorType& own = type(var);
  if (IsQuantized(declared->dtype)) {
    const OutputType output = OutputTypeOf(*declared);
    if (IsQuantized(own.dtype)) return Requantized(var, output);
    return Add<TypeCvt>({output.dtype, output.scale, output.zero_point},
                        {Converted(var, DType::kFloat32)});
  }
  if (declared->dtype == DType::kInt16 && own.dtype == DType::kFloat32) {
    const tflite::Quantization* const given = file_.tensor(tensor).quantization();
    if (given == nullptr || given->scale() == nullptr || given->scale()->size() != 1) {
      return Unsupported("output '", NameOfTflite(file_, tensor), "' of INT16 without one scale");
    }
    const TfliteVar steps = Function(F::kTrueDiv, {var, Scalar(given->scale()->Get(0))});
    return Converted(Function(F::kClamp, {Function(F::kRint, {steps})}, {-32768, 32767}),
                     DType::kInt16);
  }
  // 16-bit floats are computed as Float32.
  const DType dtype = IsFloat(declared->dtype) ? DType::kFloat32 : declared->dtype;
  return Converted(var, dtype);
}

void TfliteNode::Result(int o, TfliteVar var, TfliteLayout layout) {
  if (!ok() || o >= num_outputs()) return;
  const size_t index = OutputIndex(o);
  const TfliteVar declared = DeclaredAs(static_cast<int>(index), var);
  if (!ok()) return;
  if (layout == TfliteLayout::kImage && rank(declared) != kImageRank) {
    Invalid("output ", o, " is ", type(declared).ToString(), ", expected an image");
    return;
  }
  if (graph_.constant(declared) == nullptr) {
    graph_.SetName(declared, NameOfTflite(file_, static_cast<int>(index)));
  }
  tensors_[index] = {};
  tensors_[index].in(layout) = declared;
}

void TfliteNode::NoteZeros(int o, TfliteVar inner, TfliteLayout layout,
                           absl::Span<const int64_t> before, absl::Span<const int64_t> after) {
  constexpr int kN = 0, kH = 1, kW = 2, kC = 3;  // in the file
  const auto at = [&](absl::Span<const int64_t> zeros, int axis) {
    return zeros[static_cast<size_t>(Axis(axis, kImageRank, layout))];
  };
  for (const int axis : {kN, kC}) {
    if (at(before, axis) != 0 || at(after, axis) != 0) return;
  }
  if (!ok()) return;
  TfliteTensor& tensor = tensors_[OutputIndex(o)];
  tensor.inner = inner;
  tensor.zeros = {at(before, kH), at(after, kH), at(before, kW), at(after, kW)};
}

std::vector<int64_t> TfliteNode::Ints(int i, absl::string_view what) {
  const TfliteVar var = Input(i);
  if (!ok()) return {};
  const HostTensor* const value = constant(var);
  if (value == nullptr) {
    Unsupported(what, " (input ", i, ") is not known before the run");
    return {};
  }
  if (!IsInteger(value->dtype()) || value->shape().rank() > 2) {
    Invalid(what, " (input ", i, ") is ", type(var).ToString(), ", expected integers");
    return {};
  }
  std::vector<int64_t> values;
  for (int64_t e = 0; e < value->num_elements(); ++e) values.push_back(value->IntegerAt(e));
  return values;
}

int64_t TfliteNode::Int(int i, absl::string_view what) {
  const std::vector<int64_t> values = Ints(i, what);
  if (!ok()) return 0;
  if (values.size() == 1) return values[0];
  Invalid(what, " (input ", i, ") has ", values.size(), " elements, expected 1");
  return 0;
}

std::optional<OutputType> TfliteNode::QuantizedOutput(int o) {
  if (!ok() || o >= num_outputs()) return std::nullopt;
  const absl::StatusOr<TensorType> type = file_.TypeOf(static_cast<int>(OutputIndex(o)));
  if (!type.ok() || !IsQuantized(type->dtype)) return std::nullopt;
  return OutputTypeOf(*type);
}

std::optional<TfliteWeights> TfliteNode::Weights(int i, int channels) {
  const TfliteVar var = Input(i);
  const HostTensor* const value = constant(var);
  if (value == nullptr) return std::nullopt;
  if (IsQuantized(value->dtype())) {
    const Quantization& of = value->quantization();
    if (value->dtype() == DType::kQuantizedS8 && of.zero_point() == 0) {
      return TfliteWeights{value->As(DType::kInt8, {}), {of.scale()}};
    }
    HostTensor moved = HostTensor::Zeros(DType::kInt8, value->shape());
    for (int64_t e = 0; e < value->num_elements(); ++e) {
      const double integer = value->At(e) - of.zero_point();
      if (integer < -128 || integer > 127) return std::nullopt;
      moved.Set(e, integer);
    }
    return TfliteWeights{std::move(moved), {of.scale()}};
  }
  const tflite::Quantization* const given = file_.tensor(InputIndex(i)).quantization();
  if (value->dtype() != DType::kInt8 || given == nullptr || given->scale() == nullptr) {
    return std::nullopt;
  }
  const auto count = static_cast<int64_t>(given->scale()->size());
  if (given->quantized_dimension() != channels || channels >= rank(var) ||
      count != shape(var)[channels]) {
    Invalid("input ", i, " '", NameOfTflite(file_, InputIndex(i)), "' has ", count,
            " scales along dimension ", given->quantized_dimension(), ", expected one for each of ",
            type(var).ToString(), " along ", channels);
    return std::nullopt;
  }
  TfliteWeights weights = {*value, {}};
  for (const float scale : *given->scale()) {
    if (!(scale > 0) || !std::isfinite(scale)) {
      Invalid("input ", i, " has a scale of ", scale, ", expected a positive number");
      return std::nullopt;
    }
    weights.scales.push_back(scale);
  }
  for (const int64_t zero : LongsOf(given->zero_point())) {
    if (zero == 0) continue;
    Unsupported("input ", i, " has several scales and a zero point that is not 0");
    return std::nullopt;
  }
  return weights;
}

TfliteVar TfliteNode::Floats(int i, TfliteLayout layout) {
  const TfliteVar var = Input(i, layout);
  if (!ok() || IsFloat(type(var).dtype) || IsQuantized(type(var).dtype)) {
    return Converted(var, DType::kFloat32);
  }
  const tflite::Quantization* const given = file_.tensor(InputIndex(i)).quantization();
  const auto* const scales = given == nullptr ? nullptr : given->scale();
  if (scales == nullptr || scales->size() == 0) {
    return Unsupported("input ", i, " is ", type(var).ToString(), " without a scale");
  }
  TfliteVar scale = Scalar(scales->Get(0));
  if (scales->size() > 1) {
    const int axis = Axis(given->quantized_dimension(), rank(var), layout);
    if (!ok() || shape(var)[axis] != static_cast<int64_t>(scales->size())) {
      return Invalid("input ", i, " is ", type(var).ToString(), " with ", scales->size(),
                     " scales along dimension ", given->quantized_dimension());
    }
    Shape along(std::vector<int64_t>(static_cast<size_t>(rank(var)), 1));
    along[axis] = shape(var)[axis];
    HostTensor values = HostTensor::Zeros(DType::kFloat32, along);
    for (size_t s = 0; s < scales->size(); ++s) {
      values.mutable_data<float>()[s] = scales->Get(static_cast<flatbuffers::uoffset_t>(s));
    }
    scale = Constant(std::move(values));
  }
  return Function(F::kMul, {Converted(var, DType::kFloat32), scale});
}

TfliteVar TfliteNode::Requantized(TfliteVar quantized, const OutputType& output) {
  if (!ok() || OutputTypeOf(type(quantized)) == output) return quantized;
  if (auto table = XnnpackLinearTable(type(quantized), output)) {
    return Looked(quantized, output, *std::move(table));
  }
  return Add<ElemwiseMultiType>({{F::kIdentity, {}}, output}, {quantized});
}

TfliteVar TfliteNode::Looked(TfliteVar quantized, const OutputType& output,
                             std::vector<int64_t> table) {
  return Add<ElemwiseMultiType>({{F::kIdentity, {}}, output, std::move(table)}, {quantized});
}

TfliteVar TfliteNode::Stored(TfliteVar quantized) {
  if (!ok() || !IsQuantized(type(quantized).dtype)) return quantized;
  return Converted(quantized, StoredAs(type(quantized).dtype));
}

TfliteVar TfliteNode::Reinterpreted(TfliteVar stored, const TensorType& like) {
  if (!ok() || !IsQuantized(like.dtype)) return stored;
  const Quantization& of = like.quantization;
  return Add<TypeCvt>({like.dtype, of.scale(), of.zero_point()}, {stored});
}

TfliteVar TfliteNode::Centred(TfliteVar quantized) {
  if (!ok()) return kNoTfliteVar;
  const TensorType own = type(quantized);
  const TfliteVar units =
      Add<TypeCvt>({own.dtype, 1, own.quantization.zero_point()}, {Stored(quantized)});
  return Converted(units, DType::kFloat32);
}

TfliteVar TfliteNode::FromSteps(TfliteVar steps, const OutputType& output) {
  const TfliteVar units = Add<TypeCvt>({output.dtype, 1, output.zero_point}, {steps});
  return Add<TypeCvt>({output.dtype, output.scale, output.zero_point}, {Stored(units)});
}

std::vector<TfliteVar> TfliteNode::AddOperator(OperatorPtr op, std::vector<TfliteVar> inputs) {
  if (!ok()) return {kNoTfliteVar};
  absl::StatusOr<std::vector<TfliteVar>> outputs = graph_.Add(op, std::move(inputs));
  if (outputs.ok()) return *std::move(outputs);
  return {Fail(Annotate(outputs.status(), op->type()))};
}

TfliteVar TfliteNode::Function(ScalarFunction function, std::vector<TfliteVar> inputs,
                               ScalarParameters parameters) {
  return Add<Elemwise>({function, parameters}, std::move(inputs));
}

TfliteVar TfliteNode::Scalar(double value, DType dtype) {
  HostTensor tensor = HostTensor::Zeros(dtype, {});
  tensor.Set(0, value);
  return Constant(std::move(tensor));
}

TfliteVar TfliteNode::IntVector(absl::Span<const int64_t> values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return Constant(HostTensor::FromValues<int64_t>(DType::kInt64, shape, values));
}

TfliteVar TfliteNode::Reshaped(TfliteVar var, const Shape& to) {
  if (!ok() || shape(var) == to) return var;
  const Shape from = shape(var);
  std::vector<int64_t> dims(to.dims().begin(), to.dims().end());
  // The number of images follows other shapes of the model's inputs.
  const bool follows = constant(var) == nullptr && from.rank() > 0 && to.rank() > 0 &&
                       from[0] == to[0] && to.num_elements() > 0;
  if (follows) dims[0] = -1;
  return Add<Reshape>({.follows = follows}, {var, IntVector(dims)});
}

TfliteVar TfliteNode::Permuted(TfliteVar var, std::vector<int64_t> pattern) {
  bool same = static_cast<int>(pattern.size()) == rank(var);
  for (size_t i = 0; i < pattern.size(); ++i) {
    same = same && pattern[i] == static_cast<int64_t>(i);
  }
  return same ? var : Add<Dimshuffle>({std::move(pattern)}, {var});
}

TfliteVar TfliteNode::Converted(TfliteVar var, DType dtype) {
  if (!ok() || type(var).dtype == dtype) return var;
  return Add<TypeCvt>({dtype}, {var});
}

TfliteVar TfliteNode::Activated(TfliteVar var, Activation activation) {
  if (!ok() || activation == Activation::NONE) return var;
  for (const ActivationRow& row : kActivationRows) {
    if (row.activation != activation) continue;
    const TensorType own = type(var);
    if (!IsQuantized(own.dtype)) return Add<Elemwise>(row.function, {var});
    return Add<ElemwiseMultiType>({row.function, OutputTypeOf(own)}, {var});
  }
  return Unsupported("activation ", static_cast<int>(activation));
}

}  // namespace ashlar
