#include "tools/output_tolerance.h"

#include <algorithm>
#include <array>

#include "absl/algorithm/container.h"
#include "opr/elemwise.h"
#include "opr/pooling.h"
#include "opr/reduce.h"

namespace ashlar {
namespace {

// A reason for differences between two correct runs. Each includes all reasons above it.
enum class Cause {
  kNone,
  kFloats,      // sums of floats
  kSteps,       // integers that were rounded from such floats
  kAfterSteps,  // computations with such integers, other than of 8 bits
};

struct Freedom {
  Cause cause = Cause::kNone;
  int steps = 0;    // the most by which an integer differs
  double step = 1;  // the size of a step
};

// Whether all elements of the outputs are elements of the inputs.
bool OnlyMoves(const Operator& op) {
  constexpr std::array kTypes = {"Concat",         "Dimshuffle", "Expand",   "Gather",
                                 "GatherElements", "GatherND",   "Pad",      "RelayoutFormat",
                                 "Reshape",        "Split",      "Subtensor"};
  return absl::c_linear_search(kTypes, op.type());
}

// Whether floats are compared, chosen or rounded to whole numbers only, which every kernel does
// alike.
bool IsExactOnFloats(const Operator& op) {
  using F = ScalarFunction;
  constexpr std::array kFunctions = {
      F::kRelu, F::kAbs,  F::kNegate, F::kClamp, F::kMax,    F::kMin,      F::kFloor,      F::kCeil,
      F::kRint, F::kSign, F::kEqual,  F::kLess,  F::kSelect, F::kIdentity, F::kLessOrEqual};
  if (op.type() == Elemwise::kType) {
    return absl::c_linear_search(kFunctions, static_cast<const Elemwise&>(op).param().mode);
  }
  if (op.type() == PoolingForward::kType) {
    return static_cast<const PoolingForward&>(op).param().mode == PoolingMode::kMax;
  }
  if (op.type() == Reduce::kType) {
    const ReduceMode mode = static_cast<const Reduce&>(op).param().mode;
    return mode == ReduceMode::kMax || mode == ReduceMode::kMin;
  }
  return OnlyMoves(op) || op.type() == "TopK";
}

// Returns the freedom of a conversion's output.
Freedom Convert(Freedom from, const TensorType& input, DType to) {
  if (from.cause == Cause::kNone || (IsFloat(input.dtype) && IsFloat(to))) return from;
  if (IsFloat(to)) {
    const absl::Span<const float> scales = input.quantization.scales();
    if (IsQuantized(input.dtype)) from.step = *absl::c_max_element(scales);
    return from;
  }
  if (!IsFloat(input.dtype)) return from;
  return {Cause::kSteps, from.steps + 1};
}

Freedom FreedomOf(const Graph& graph, const OperatorNode& node, const TensorType& output,
                  const std::vector<Freedom>& freedoms) {
  const Operator& op = *node.op;
  if (op.type() == "GetVarShape") return {};
  Freedom worst;
  for (int input : node.inputs) {
    const Freedom& f = freedoms[static_cast<size_t>(input)];
    worst = {std::max(worst.cause, f.cause), std::max(worst.steps, f.steps),
             std::max(worst.step, f.step)};
  }
  if (op.type() == "TypeCvt") {
    return Convert(worst, graph.var(node.inputs[0]).type, output.dtype);
  }
  if (OnlyMoves(op)) return worst;
  if (worst.cause >= Cause::kSteps) {
    return {IsQuantizedTo8Bits(output.dtype) ? Cause::kSteps : Cause::kAfterSteps, worst.steps + 1};
  }
  if (!IsFloat(output.dtype)) return {};
  if (worst.cause == Cause::kNone && IsExactOnFloats(op)) return {};
  return {Cause::kFloats};
}

Tolerance ToleranceFor(const Freedom& freedom, const PlanRequest& request) {
  const DType precision =
      request.planning.kernels.allow_tf32 ? DType::kFloat16 : request.target.precision;
  Tolerance tolerance;
  switch (freedom.cause) {
    case Cause::kNone:
      tolerance.atol = tolerance.rtol = 0;
      return tolerance;
    case Cause::kFloats:
      if (precision == DType::kFloat16) tolerance.rtol = 0.02;
      if (precision == DType::kBFloat16) tolerance.rtol = 0.1;
      return tolerance;
    case Cause::kSteps:
      if (precision != DType::kFloat32) break;
      tolerance.rtol = 0;
      tolerance.atol =
          freedom.step * (freedom.steps + 1e-3);  // the product with a scale is rounded
      tolerance.rms = freedom.step / 2;
      return tolerance;
    case Cause::kAfterSteps:
      break;
  }
  tolerance.metric = Metric::kNmse;
  tolerance.rtol = 0.02;
  return tolerance;
}

}  // namespace

std::vector<OutputTolerance> OutputTolerances(const Graph& graph, const PlanRequest& request) {
  std::vector<Freedom> freedoms(graph.vars().size());
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() != Role::kCompute) continue;
    for (int var : node.outputs) {
      freedoms[static_cast<size_t>(var)] = FreedomOf(graph, node, graph.var(var).type, freedoms);
    }
  }
  std::vector<OutputTolerance> tolerances;
  for (const Binding& output : graph.outputs()) {
    const Freedom& freedom = freedoms[static_cast<size_t>(output.var)];
    tolerances.push_back({ToleranceFor(freedom, request), freedom.cause >= Cause::kSteps});
  }
  return tolerances;
}

}  // namespace ashlar
