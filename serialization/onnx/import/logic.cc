// Imports comparisons, logic and bit operations.
#include <cmath>
#include <limits>

#include "opr/base/strided.h"
#include "opr/bit_cast.h"
#include "opr/integer_elemwise.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/import/values.h"
#include "serialization/onnx/tensors.h"

namespace ashlar {
namespace {

#define ASHLAR_ONNX_COMPARISON(name, formula)                                                      \
  OnnxVars name(OnnxNode& node) {                                                                  \
    return OnnxCompared(                                                                           \
        node, node.input(0), OnnxSecondOperand(node),                                              \
        [](int64_t a, int64_t b) { return formula; }, [](double a, double b) { return formula; }); \
  }
ASHLAR_ONNX_COMPARISON(Equal, a == b)
ASHLAR_ONNX_COMPARISON(Greater, a > b)
ASHLAR_ONNX_COMPARISON(GreaterOrEqual, a >= b)
ASHLAR_ONNX_COMPARISON(Less, a < b)
ASHLAR_ONNX_COMPARISON(LessOrEqual, a <= b)
ASHLAR_ONNX_COMPARISON(And, a != 0 && b != 0)
ASHLAR_ONNX_COMPARISON(Or, a != 0 || b != 0)
ASHLAR_ONNX_COMPARISON(Xor, (a != 0) != (b != 0))
#undef ASHLAR_ONNX_COMPARISON

OnnxVars Not(OnnxNode& node) {
  return OnnxCompared(
      node, node.input(0), node.input(0), [](int64_t a, int64_t) { return a == 0; },
      [](double a, double) { return a == 0; });
}

template <IntegerFunction kFunction>
OnnxVars Bitwise(OnnxNode& node) {
  const OnnxVar a = node.input(0), b = node.input(1);
  if (node.dtype(a) != node.dtype(b)) {
    return node.Invalid(absl::StrCat("of ", Name(node.dtype(a)), " and ", Name(node.dtype(b))));
  }
  return node.Add<IntegerElemwise>({kFunction}, {a, b});
}

OnnxVars BitwiseNot(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const OnnxVar ones = node.Scalar(
      IsUnsigned(node.dtype(x)) ? std::numeric_limits<double>::infinity() : -1, node.dtype(x));
  return node.Add<IntegerElemwise>({IntegerFunction::kXor}, {x, ones});
}

OnnxVars BitShift(OnnxNode& node) {
  const std::string direction = node.Text("direction", "");
  if (direction == "LEFT") return Bitwise<IntegerFunction::kShiftLeft>(node);
  if (direction == "RIGHT") return Bitwise<IntegerFunction::kShiftRight>(node);
  return node.Invalid(absl::StrCat("direction is '", direction.substr(0, 64), "'"));
}

OnnxVars IsNaN(OnnxNode& node) {
  return OnnxCompared(
      node, node.input(0), node.input(0), [](int64_t, int64_t) { return false; },
      [](double a, double) { return std::isnan(a); });
}

OnnxVars IsInf(OnnxNode& node) {
  const bool positive = node.Int("detect_positive", 1) != 0;
  const bool negative = node.Int("detect_negative", 1) != 0;
  const HostTensor& x = node.Known(0, "the input");
  std::optional<HostTensor> result = node.NewTensor(DType::kBool, x.shape().dims());
  if (!node.ok() || !result) return kNoOnnxVar;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const double value = x.At(i);
    result->Set(i, std::isinf(value) && (value > 0 ? positive : negative));
  }
  return node.Constant(*std::move(result));
}

OnnxVars Where(OnnxNode& node) {
  const HostTensor& condition = node.Known(0, "the condition");
  const HostTensor& a = node.Known(1, "X");
  const HostTensor& b = node.Known(2, "Y");
  if (!node.ok()) return kNoOnnxVar;
  if (condition.dtype() != DType::kBool || a.dtype() != b.dtype()) {
    return node.Invalid("expected a condition of Bool and values of one dtype");
  }
  absl::StatusOr<Shape> shape = Broadcast(a.shape(), b.shape());
  if (shape.ok()) shape = Broadcast(*shape, condition.shape());
  if (!shape.ok()) return node.Fail(shape.status());
  std::optional<HostTensor> result = node.NewTensor(a.dtype(), shape->dims());
  if (!result) return kNoOnnxVar;
  Shape walked = *shape;
  std::array<Strides, 4> strides = {
      ContiguousStrides(*shape), BroadcastStrides(condition.shape(), *shape),
      BroadcastStrides(a.shape(), *shape), BroadcastStrides(b.shape(), *shape)};
  JoinDimensions(walked, strides);
  ForEachRow(walked, strides, Shape::kMaxBytes, [&](const std::array<int64_t, 4>& at, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const auto place = [&](int k) { return at[k] + i * strides[k].back(); };
      const bool first = condition.data<uint8_t>()[place(1)] != 0;
      CopyElement(first ? a : b, place(first ? 2 : 3), *result, place(0));
    }
  });
  return node.Constant(*std::move(result));
}

// Used at run time: comparisons return 1 or 0 in the dtype of their operands.
OnnxVars AsBool(OnnxNode& node, OnnxVar flags) { return node.Converted(flags, DType::kBool); }

template <ScalarFunction kFunction, bool kSwapped = false>
OnnxVars RunComparison(OnnxNode& node) {
  const OnnxVar a = node.input(0), b = OnnxSecondOperand(node);
  return AsBool(node,
                kSwapped ? node.Function(kFunction, {b, a}) : node.Function(kFunction, {a, b}));
}

template <ScalarFunction kFunction>
OnnxVars RunLogic(OnnxNode& node) {
  return node.Function(kFunction, {node.input(0), OnnxSecondOperand(node)});
}

OnnxVar Inverted(OnnxNode& node, OnnxVar flags) {
  return node.Function(ScalarFunction::kEqual, {flags, node.Scalar(0, DType::kBool)});
}

OnnxVars RunNot(OnnxNode& node) { return Inverted(node, node.input(0)); }

OnnxVars RunXor(OnnxNode& node) {
  const OnnxVar same =
      node.Function(ScalarFunction::kEqual, {node.input(0), OnnxSecondOperand(node)});
  return Inverted(node, same);
}

OnnxVars RunIsNaN(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  return Inverted(node, AsBool(node, node.Function(ScalarFunction::kEqual, {x, x}))[0]);
}

OnnxVars RunIsInf(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const bool positive = node.Int("detect_positive", 1) != 0;
  const bool negative = node.Int("detect_negative", 1) != 0;
  const double infinity = std::numeric_limits<double>::infinity();
  if (!positive && !negative) {
    std::optional<HostTensor> none = node.NewTensor(DType::kBool, node.shape(x).dims());
    return none ? node.Constant(*std::move(none)) : kNoOnnxVar;
  }
  const OnnxVar size = positive && negative ? node.Function(ScalarFunction::kAbs, {x}) : x;
  const OnnxVar wanted = node.Scalar(positive ? infinity : -infinity, node.dtype(x));
  return AsBool(node, node.Function(ScalarFunction::kEqual, {size, wanted}));
}

OnnxVars RunWhere(OnnxNode& node) {
  const OnnxVar x = node.input(1), y = node.input(2);
  const OnnxVar flags = node.Converted(node.input(0), node.dtype(x));
  return node.Function(ScalarFunction::kSelect, {flags, x, y});
}

// A float of 16 bits in the file is Float32 here. It takes its own type for this.
OnnxVars ImportBitCast(OnnxNode& node) {
  OnnxVar x = node.input(0);
  const int64_t type = node.Int("to", 0);
  const absl::StatusOr<DType> computed = ComputedAs(type);
  if (!node.ok()) return kNoOnnxVar;
  if (!computed.ok()) return node.Fail(computed.status());
  if (node.dtype(x) == DType::kFloat32) {
    x = node.Converted(x, DeclaredAs(node.onnx_type(0), DType::kFloat32));
  }
  const DType to = DeclaredAs(type, *computed), from = node.dtype(x);
  if (to == from) return node.Converted(x, *computed);
  if (SizeOf(from) != SizeOf(to) || to == DType::kBool) {
    return node.Unsupported(absl::StrCat("from ", Name(from), " to ", Name(to)));
  }
  return node.Converted(node.Add<BitCast>({to}, {x}), *computed);
}

constexpr OnnxRow kLogicRows[] = {
    OnnxRow("And", 2, 2, RunLogic<ScalarFunction::kMul>).Folded(And),
    OnnxRow("BitCast", 1, 1, ImportBitCast)
        .Since(26)
        .Limits("between types of one size, not to bool"),
    OnnxRow("BitShift", 2, 2, BitShift),
    OnnxRow("BitwiseAnd", 2, 2, Bitwise<IntegerFunction::kAnd>),
    OnnxRow("BitwiseNot", 1, 1, BitwiseNot),
    OnnxRow("BitwiseOr", 2, 2, Bitwise<IntegerFunction::kOr>),
    OnnxRow("BitwiseXor", 2, 2, Bitwise<IntegerFunction::kXor>),
    OnnxRow("Equal", 2, 2, RunComparison<ScalarFunction::kEqual>)
        .Folded(Equal)
        .Ranged(OnnxRangeRule::kEqual),
    OnnxRow("Greater", 2, 2, RunComparison<ScalarFunction::kLess, true>).Folded(Greater),
    OnnxRow("GreaterOrEqual", 2, 2, RunComparison<ScalarFunction::kLessOrEqual, true>)
        .Folded(GreaterOrEqual),
    OnnxRow("IsInf", 1, 1, RunIsInf).Folded(IsInf),
    OnnxRow("IsNaN", 1, 1, RunIsNaN).Folded(IsNaN),
    OnnxRow("Less", 2, 2, RunComparison<ScalarFunction::kLess>).Folded(Less),
    OnnxRow("LessOrEqual", 2, 2, RunComparison<ScalarFunction::kLessOrEqual>).Folded(LessOrEqual),
    OnnxRow("Not", 1, 1, RunNot).Folded(Not),
    OnnxRow("Or", 2, 2, RunLogic<ScalarFunction::kMax>).Folded(Or),
    OnnxRow("Where", 3, 3, RunWhere).Folded(Where).Ranged(OnnxRangeRule::kWhere),
    OnnxRow("Xor", 2, 2, RunXor).Folded(Xor),
};

}  // namespace

absl::Span<const OnnxRow> OnnxLogicRows() { return kLogicRows; }

}  // namespace ashlar
