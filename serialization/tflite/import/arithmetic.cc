// Imports functions of elements, conversions and fused activations.
#include <array>

#include "opr/elemwise_multi_type.h"
#include "serialization/tflite/import/byte_tables.h"
#include "serialization/tflite/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;
using tflite::Activation;
using tflite::BuiltinOperator;

// Functions of one tensor without options.
struct UnaryRow {
  BuiltinOperator code;
  F function;
  ScalarParameters parameters = {};
};
constexpr UnaryRow kUnaryRows[] = {
    {BuiltinOperator::ABS, F::kAbs},
    {BuiltinOperator::CEIL, F::kCeil},
    {BuiltinOperator::COS, F::kCos},
    {BuiltinOperator::ELU, F::kElu, {1}},
    {BuiltinOperator::EXP, F::kExp},
    {BuiltinOperator::FLOOR, F::kFloor},
    {BuiltinOperator::HARD_SWISH, F::kHSwish},
    {BuiltinOperator::LOG, F::kLog},
    {BuiltinOperator::LOGISTIC, F::kSigmoid},
    {BuiltinOperator::NEG, F::kNegate},
    {BuiltinOperator::RELU, F::kRelu},
    {BuiltinOperator::RELU6, F::kClamp, {0, 6}},
    {BuiltinOperator::RELU_0_TO_1, F::kClamp, {0, 1}},
    {BuiltinOperator::RELU_N1_TO_1, F::kClamp, {-1, 1}},
    {BuiltinOperator::ROUND, F::kRint},
    {BuiltinOperator::SIGN, F::kSign},
    {BuiltinOperator::SIN, F::kSin},
    {BuiltinOperator::SQRT, F::kSqrt},
    {BuiltinOperator::TANH, F::kTanh},
};

// Returns the activation in the options of an operator's kind.
template <typename Options>
Activation FusedIn(TfliteNode& node) {
  const auto* const options = node.Options<Options>();
  return node.ok() ? options->activation() : Activation::NONE;
}
Activation NotFused(TfliteNode&) { return Activation::NONE; }

// Functions of two tensors.
struct BinaryRow {
  BuiltinOperator code;
  F function;
  Activation (*activation)(TfliteNode& node) = NotFused;
};
constexpr BinaryRow kBinaryRows[] = {
    {BuiltinOperator::ADD, F::kAdd, FusedIn<tflite::AddOptions>},
    {BuiltinOperator::DIV, F::kTrueDiv, FusedIn<tflite::DivOptions>},
    {BuiltinOperator::MAXIMUM, F::kMax},
    {BuiltinOperator::MINIMUM, F::kMin},
    {BuiltinOperator::MUL, F::kMul, FusedIn<tflite::MulOptions>},
    {BuiltinOperator::POW, F::kPow},
    {BuiltinOperator::PRELU, F::kPRelu},
    {BuiltinOperator::SUB, F::kSub, FusedIn<tflite::SubOptions>},
};

// Comparisons give Bool; `exchanged` reads the operands in reverse order.
struct ComparisonRow {
  BuiltinOperator code;
  F function;
  bool exchanged = false, negated = false;
};
constexpr ComparisonRow kComparisonRows[] = {
    {BuiltinOperator::EQUAL, F::kEqual},
    {BuiltinOperator::GREATER, F::kLess, true},
    {BuiltinOperator::GREATER_EQUAL, F::kLessOrEqual, true},
    {BuiltinOperator::LESS, F::kLess},
    {BuiltinOperator::LESS_EQUAL, F::kLessOrEqual},
    {BuiltinOperator::NOT_EQUAL, F::kEqual, false, true},
};

template <typename Row, size_t kCount>
const Row& RowFor(const Row (&rows)[kCount], BuiltinOperator code) {
  size_t i = 0;
  while (rows[i].code != code) ++i;
  return rows[i];
}

// Returns the table of a function that LiteRT rounds in a way of its own; nullopt for others.
std::optional<std::vector<int64_t>> OwnTable(F function, const ScalarParameters& parameters,
                                             const TensorType& input, const OutputType& output) {
  if (function == F::kHSwish) return LiteRtHardSwishTable(input, output);
  if (function != F::kLeakyRelu) return std::nullopt;
  return XnnpackLinearTable(input, output, static_cast<float>(parameters[0]));
}

// Adds a function of one tensor; of 8 bits it becomes a table.
void Apply(TfliteNode& node, F function, const ScalarParameters& parameters) {
  const TfliteLayout layout = node.LayoutOf(0);
  const std::optional<OutputType> output = node.QuantizedOutput(0);
  const TfliteVar x = node.Input(0, layout);
  if (!node.ok()) return;
  if (output && IsQuantized(node.type(x).dtype)) {
    const auto table = OwnTable(function, parameters, node.type(x), *output);
    const TfliteVar y = table ? node.Looked(x, *output, *table)
                              : node.Add<ElemwiseMultiType>({{function, parameters}, *output}, {x});
    node.Result(0, y, layout);
    return;
  }
  const DType dtype = node.type(x).dtype;
  const bool integers = dtype == DType::kInt32 || dtype == DType::kInt64;
  node.Result(0, node.Function(function, {integers ? x : node.Floats(0, layout)}, parameters),
              layout);
}

void Unary(TfliteNode& node) {
  const UnaryRow& row = RowFor(kUnaryRows, node.code());
  Apply(node, row.function, row.parameters);
}

void LeakyRelu(TfliteNode& node) {
  const auto* const options = node.Options<tflite::LeakyReluOptions>();
  if (node.ok()) Apply(node, F::kLeakyRelu, {options->alpha()});
}

void Gelu(TfliteNode& node) {
  const auto* const options = node.Options<tflite::GeluOptions>();
  if (node.ok()) Apply(node, options->approximate() ? F::kGeluTanh : F::kGelu, {});
}

void Rsqrt(TfliteNode& node) {
  const TfliteLayout layout = node.LayoutOf(0);
  const TfliteVar root = node.Function(F::kSqrt, {node.Floats(0, layout)});
  node.Result(0, node.Function(F::kTrueDiv, {node.Scalar(1), root}), layout);
}

// Returns the operands of a function, as they are if integers, otherwise as Float32.
std::vector<TfliteVar> Operands(TfliteNode& node, absl::Span<const int> inputs,
                                TfliteLayout layout) {
  std::vector<TfliteVar> operands;
  for (const int i : inputs) {
    const TfliteVar x = node.Operand(i, layout);
    if (!node.ok()) return {kNoTfliteVar, kNoTfliteVar};
    const DType dtype = node.type(x).dtype;
    const bool plain = dtype == DType::kInt32 || dtype == DType::kInt64 || dtype == DType::kBool;
    const bool floats = IsFloat(dtype) || IsQuantized(dtype);
    if (!plain && !floats && node.rank(x) != node.rank(node.Input(i))) {
      node.Unsupported("input ", i, " is ", node.type(x).ToString());
    }
    operands.push_back(plain    ? x
                       : floats ? node.Converted(x, DType::kFloat32)
                                : node.Floats(i, layout));
  }
  return operands;
}

// Returns a var whose steps from its zero point are the opposites: the bits of its integers and of
// its zero point are inverted.
TfliteVar Opposite(TfliteNode& node, TfliteVar x) {
  if (!node.ok()) return kNoTfliteVar;
  const DType dtype = node.type(x).dtype;
  OutputType output = OutputTypeOf(node.type(x));
  const int64_t ends = LeastOf(dtype) + MostOf(dtype);
  output.zero_point = ends - output.zero_point;
  std::vector<int64_t> opposites;
  for (int64_t i = LeastOf(dtype); i <= MostOf(dtype); ++i) opposites.push_back(ends - i);
  return node.Looked(x, output, std::move(opposites));
}

// Returns the sum of 8-bit tensors in one operator, in fixed-point numbers as LiteRT adds if it
// does; none if their shapes or scales have no such sum.
TfliteVar IntegerSum(TfliteNode& node, TfliteLayout layout, const OutputType& output,
                     bool subtracts, Activation activation) {
  TfliteVar a = node.Operand(0, layout), b = node.Operand(1, layout);
  if (!node.ok()) return kNoTfliteVar;
  const float of_a = node.type(a).quantization.scale(), of_b = node.type(b).quantization.scale();
  const bool fixed =
      FixedPointSum::Between(of_a, of_b, static_cast<float>(output.scale)).has_value();
  if (!fixed && (subtracts || node.shape(a) != node.shape(b))) return kNoTfliteVar;
  const absl::StatusOr<Shape> shape = Broadcast(node.shape(a), node.shape(b));
  if (!shape.ok() || (*shape != node.shape(a) && *shape != node.shape(b))) return kNoTfliteVar;
  if (subtracts) b = Opposite(node, b);
  if (node.ok() && node.shape(a) != *shape) std::swap(a, b);
  const bool relu = activation == Activation::RELU;
  const TfliteVar sum = node.Add<ElemwiseMultiType>(
      {{relu ? F::kFuseAddRelu : F::kAdd, {}}, output, {}, fixed}, {a, b});
  return relu ? sum : node.Activated(sum, activation);
}

// Returns the product of 8-bit integers, which is exact, rounded once.
TfliteVar IntegerProduct(TfliteNode& node, TfliteLayout layout, const OutputType& output,
                         Activation activation) {
  const TfliteVar a = node.Operand(0, layout), b = node.Operand(1, layout);
  if (!node.ok()) return kNoTfliteVar;
  const TfliteVar product = node.Function(F::kMul, {node.Centred(a), node.Centred(b)});
  if (!node.ok()) return kNoTfliteVar;
  const float scale = node.type(a).quantization.scale() * node.type(b).quantization.scale();
  const TfliteVar factor = node.Scalar(scale / static_cast<float>(output.scale));
  const TfliteVar y = node.FromSteps(node.Function(F::kMul, {product, factor}), output);
  return node.Activated(y, activation);
}

void Binary(TfliteNode& node) {
  const BinaryRow& row = RowFor(kBinaryRows, node.code());
  const F function = row.function;
  const Activation activation = row.activation(node);
  const TfliteLayout layout = node.LayoutOf({0, 1});
  const std::optional<OutputType> output = node.QuantizedOutput(0);
  const bool integers = output && node.IsQuantizedInput(0) && node.IsQuantizedInput(1);
  TfliteVar y = kNoTfliteVar;
  if (integers && (function == F::kAdd || function == F::kSub)) {
    y = IntegerSum(node, layout, *output, function == F::kSub, activation);
  }
  if (integers && function == F::kMul) y = IntegerProduct(node, layout, *output, activation);
  if (node.ok() && y == kNoTfliteVar) {
    y = node.Activated(node.Function(function, Operands(node, {0, 1}, layout)), activation);
  }
  if (layout == TfliteLayout::kImage && node.ok() && node.rank(y) != 4) {
    return void(node.Invalid("of ", node.type(y).ToString()));
  }
  node.Result(0, y, layout);
}

void Comparison(TfliteNode& node) {
  const ComparisonRow& row = RowFor(kComparisonRows, node.code());
  const TfliteLayout layout = node.LayoutOf({0, 1});
  std::vector<TfliteVar> operands = Operands(node, {0, 1}, layout);
  if (row.exchanged) std::swap(operands[0], operands[1]);
  TfliteVar y = node.Converted(node.Function(row.function, std::move(operands)), DType::kBool);
  if (row.negated) y = node.Function(F::kEqual, {y, node.Scalar(0, DType::kBool)});
  node.Result(0, y, layout);
}

void Logical(TfliteNode& node) {
  const TfliteLayout layout = node.LayoutOf({0, 1});
  const F function = node.code() == BuiltinOperator::LOGICAL_AND ? F::kMul : F::kMax;
  node.Result(0, node.Function(function, Operands(node, {0, 1}, layout)), layout);
}

void LogicalNot(TfliteNode& node) {
  const TfliteLayout layout = node.LayoutOf(0);
  node.Result(0, node.Function(F::kEqual, {node.Input(0, layout), node.Scalar(0, DType::kBool)}),
              layout);
}

void SquaredDifference(TfliteNode& node) {
  const TfliteLayout layout = node.LayoutOf({0, 1});
  const TfliteVar difference = node.Function(F::kSub, Operands(node, {0, 1}, layout));
  node.Result(0, node.Function(F::kMul, {difference, difference}), layout);
}

void Square(TfliteNode& node) {
  const TfliteLayout layout = node.LayoutOf(0);
  const TfliteVar x = Operands(node, {0}, layout)[0];
  node.Result(0, node.Function(F::kMul, {x, x}), layout);
}

void Select(TfliteNode& node) {
  const TfliteLayout layout = node.LayoutOf({0, 1, 2});
  std::vector<TfliteVar> values = Operands(node, {1, 2}, layout);
  const TfliteVar condition = node.Operand(0, layout);
  if (!node.ok()) return;
  node.Result(0,
              node.Function(F::kSelect, {node.Converted(condition, node.type(values[0]).dtype),
                                         values[0], values[1]}),
              layout);
}

void AddN(TfliteNode& node) {
  TfliteVar sum = Operands(node, {0}, TfliteLayout::kFile)[0];
  for (int i = 1; i < node.num_inputs(); ++i) {
    sum = node.Function(F::kAdd, {sum, Operands(node, {i}, TfliteLayout::kFile)[0]});
  }
  node.Result(0, sum);
}

// Result converts to the type that the file declares.
void Convert(TfliteNode& node) {
  const TfliteLayout layout = node.LayoutOf(0);
  node.Result(0, node.Numbers(0, layout), layout);
}

void Densify(TfliteNode& node) {
  const TfliteVar dense = node.Densified(0);
  if (node.ok()) node.Result(0, dense);
}

void Cast(TfliteNode& node) {
  const TfliteLayout layout = node.LayoutOf(0);
  node.Result(0, node.Stored(node.Input(0, layout)), layout);
}

constexpr TfliteRow kArithmeticRows[] = {
    {BuiltinOperator::ABS, 1, 1, Unary},
    {BuiltinOperator::ADD, 2, 2, Binary},
    {BuiltinOperator::ADD_N, 1, TfliteRow::kAny, AddN},
    {BuiltinOperator::CAST, 1, 1, Cast},
    {BuiltinOperator::CEIL, 1, 1, Unary},
    {BuiltinOperator::COS, 1, 1, Unary},
    {BuiltinOperator::DENSIFY, 1, 1, Densify},
    {BuiltinOperator::DEQUANTIZE, 1, 1, Convert},
    {BuiltinOperator::DIV, 2, 2, Binary},
    {BuiltinOperator::ELU, 1, 1, Unary},
    {BuiltinOperator::EQUAL, 2, 2, Comparison},
    {BuiltinOperator::EXP, 1, 1, Unary},
    {BuiltinOperator::FLOOR, 1, 1, Unary},
    {BuiltinOperator::GELU, 1, 1, Gelu},
    {BuiltinOperator::GREATER, 2, 2, Comparison},
    {BuiltinOperator::GREATER_EQUAL, 2, 2, Comparison},
    {BuiltinOperator::HARD_SWISH, 1, 1, Unary},
    {BuiltinOperator::LEAKY_RELU, 1, 1, LeakyRelu},
    {BuiltinOperator::LESS, 2, 2, Comparison},
    {BuiltinOperator::LESS_EQUAL, 2, 2, Comparison},
    {BuiltinOperator::LOG, 1, 1, Unary},
    {BuiltinOperator::LOGICAL_AND, 2, 2, Logical},
    {BuiltinOperator::LOGICAL_NOT, 1, 1, LogicalNot},
    {BuiltinOperator::LOGICAL_OR, 2, 2, Logical},
    {BuiltinOperator::LOGISTIC, 1, 1, Unary},
    {BuiltinOperator::MAXIMUM, 2, 2, Binary},
    {BuiltinOperator::MINIMUM, 2, 2, Binary},
    {BuiltinOperator::MUL, 2, 2, Binary},
    {BuiltinOperator::NEG, 1, 1, Unary},
    {BuiltinOperator::NOT_EQUAL, 2, 2, Comparison},
    {BuiltinOperator::POW, 2, 2, Binary},
    {BuiltinOperator::PRELU, 2, 2, Binary},
    {BuiltinOperator::QUANTIZE, 1, 1, Convert},
    {BuiltinOperator::RELU, 1, 1, Unary},
    {BuiltinOperator::RELU6, 1, 1, Unary},
    {BuiltinOperator::RELU_0_TO_1, 1, 1, Unary},
    {BuiltinOperator::RELU_N1_TO_1, 1, 1, Unary},
    {BuiltinOperator::ROUND, 1, 1, Unary},
    {BuiltinOperator::RSQRT, 1, 1, Rsqrt},
    {BuiltinOperator::SELECT, 3, 3, Select},
    {BuiltinOperator::SELECT_V2, 3, 3, Select},
    {BuiltinOperator::SIGN, 1, 1, Unary},
    {BuiltinOperator::SIN, 1, 1, Unary},
    {BuiltinOperator::SQRT, 1, 1, Unary},
    {BuiltinOperator::SQUARE, 1, 1, Square},
    {BuiltinOperator::SQUARED_DIFFERENCE, 2, 2, SquaredDifference},
    {BuiltinOperator::SUB, 2, 2, Binary},
    {BuiltinOperator::TANH, 1, 1, Unary},
};

}  // namespace

absl::Span<const TfliteRow> TfliteArithmeticRows() { return kArithmeticRows; }

}  // namespace ashlar
