#include "serialization/megengine/conventions.h"

namespace ashlar {
namespace {

using enum ValueInference;

constexpr OperatorConventions kConventions[] = {
    // type, workspace, empty outputs, value
    {"Concat", false, true, kInputValues},       {"ConvBiasForward", true, false, kNone},
    {"ConvolutionForward", true, false, kNone},  {"Dimshuffle", false, true, kInputValues},
    {"Elemwise", false, true, kInputValues},     {"ElemwiseChain", false, true, kNone},
    {"GetVarShape", false, false, kInputShapes}, {"Host2DeviceCopy", false, false, kMutable},
    {"MatrixMul", true, false, kNone},           {"MatrixMulBias", true, false, kNone},
    {"PoolingForward", true, false, kNone},      {"Reduce", true, false, kReduced},
    {"Reshape", false, true, kInputValues},      {"Subtensor", false, false, kInputValues},
    {"TypeCvt", false, true, kInputValues},
};

uint32_t FlagsOf(const Operator& op, int output) {
  switch (op.role()) {
    case Role::kInput:
      return output == 0 ? kNoSysMemAlloc : kNoSysMemAlloc | kAllowEmptyShape;
    case Role::kConstant:
    case Role::kState:
      return kNoMemReclaim | kAllowEmptyShape | kPersistentDeviceValue |
             kDisallowRtForceDynamicMemAlloc;
    case Role::kOutput:
      return kNoSysMemAlloc | kAllowEmptyShape;
    case Role::kCompute:
      return ConventionsOf(op.type()).allows_empty_outputs ? uint32_t{kAllowEmptyShape} : 0;
  }
  return 0;
}

}  // namespace

const OperatorConventions& ConventionsOf(absl::string_view operator_type) {
  static constexpr OperatorConventions kNothing = {""};
  for (const OperatorConventions& row : kConventions) {
    if (operator_type == row.type) return row;
  }
  return kNothing;
}

std::vector<uint32_t> FlagsOfVars(const Graph& graph) {
  std::vector<uint32_t> flags;
  for (const Var& var : graph.vars()) {
    flags.push_back(FlagsOf(*graph.node(var.producer).op, var.output_index));
  }
  for (const Binding& output : graph.outputs()) flags[output.var] |= kNoSysStaticMemAlloc;
  return flags;
}

}  // namespace ashlar
