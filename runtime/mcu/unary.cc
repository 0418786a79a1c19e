#include "runtime/mcu/unary.h"

#include "graph/status.h"
#include "runtime/mcu/walk.h"

namespace ashlar::mcu {
namespace {

struct UnaryRow {
  ScalarFunction function;
  bool transcendental;
  int32_t number;  // in the list of arithmetic.h or transcendental.h
};

constexpr UnaryRow kUnaryRows[] = {
    {ScalarFunction::kAbs, false, ASHLAR_ABS},
    {ScalarFunction::kCeil, false, ASHLAR_CEIL},
    {ScalarFunction::kElu, true, ASHLAR_ELU},
    {ScalarFunction::kErf, true, ASHLAR_ERF},
    {ScalarFunction::kExp, true, ASHLAR_EXP},
    {ScalarFunction::kFloor, false, ASHLAR_FLOOR},
    {ScalarFunction::kGelu, true, ASHLAR_GELU},
    {ScalarFunction::kGeluTanh, true, ASHLAR_GELU_TANH},
    {ScalarFunction::kHSwish, false, ASHLAR_HARD_SWISH},
    {ScalarFunction::kHardSigmoid, false, ASHLAR_HARD_SIGMOID},
    {ScalarFunction::kLeakyRelu, false, ASHLAR_LEAKY_RELU},
    {ScalarFunction::kLog, true, ASHLAR_LOG},
    {ScalarFunction::kMish, true, ASHLAR_MISH},
    {ScalarFunction::kNegate, false, ASHLAR_NEGATE},
    {ScalarFunction::kRint, false, ASHLAR_RINT},
    {ScalarFunction::kSigmoid, true, ASHLAR_SIGMOID},
    {ScalarFunction::kSign, false, ASHLAR_SIGN},
    {ScalarFunction::kSilu, true, ASHLAR_SILU},
    {ScalarFunction::kSoftplus, true, ASHLAR_SOFTPLUS},
    {ScalarFunction::kSqrt, false, ASHLAR_SQRT},
    {ScalarFunction::kTanh, true, ASHLAR_TANH},
    {ScalarFunction::kThresholdedRelu, false, ASHLAR_THRESHOLDED_RELU},
};

// Returns the row of a function with its parameters set in `shape`; null if there is none.
const UnaryRow* FindRow(const ElemwiseParam& param, ashlar_unary_shape& shape) {
  static constexpr UnaryRow kClamp = {ScalarFunction::kClamp, false, ASHLAR_CLAMP};
  if (const std::optional<Bounds> bounds = BoundsOf(param)) {
    shape.p = bounds->low;
    shape.q = bounds->high;
    return &kClamp;
  }
  shape.p = static_cast<float>(param.parameters[0]);
  shape.q = static_cast<float>(param.parameters[1]);
  for (const UnaryRow& row : kUnaryRows) {
    if (row.function == param.mode) return &row;
  }
  return nullptr;
}

}  // namespace

std::optional<Bounds> BoundsOf(const ElemwiseParam& param) {
  Bounds bounds;
  switch (param.mode) {
    case ScalarFunction::kIdentity:
      return bounds;
    case ScalarFunction::kRelu:
      bounds.low = 0;
      return bounds;
    case ScalarFunction::kClamp:
      return Bounds{static_cast<float>(param.parameters[0]),
                    static_cast<float>(param.parameters[1])};
    default:
      return std::nullopt;
  }
}

absl::StatusOr<CodeCall> UnaryCall(const ElemwiseParam& param, const TensorType& input,
                                   const TensorType& output, const CodeOperand& source) {
  ASHLAR_ASSIGN_OR_RETURN(const Walk<2> walk, WalkOver<1>(output, {input}));
  auto shape = ShapeOver<ashlar_unary_shape>(walk);
  const UnaryRow* const row = FindRow(param, shape);
  if (row == nullptr) {
    return absl::UnimplementedError(absl::StrCat("mode ", RowOf(param.mode).name, " of floats"));
  }
  shape.function = row->number;
  CodeCall call = row->transcendental ? ASHLAR_CODE_CALL(transcendental, shape, source, Output(0))
                                      : ASHLAR_CODE_CALL(arithmetic, shape, source, Output(0));
  call.shape_type = "ashlar_unary_shape";
  return call;
}

}  // namespace ashlar::mcu
