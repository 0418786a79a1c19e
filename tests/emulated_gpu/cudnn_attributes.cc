#include "tests/emulated_gpu/cudnn_attributes.h"

namespace ashlar::emulated {
namespace {

constexpr int64_t kMany = int64_t{1} << 20;
constexpr Access kRequired = Access::kRequired, kOptional = Access::kOptional,
                 kReadOnly = Access::kReadOnly;

}  // namespace

// Some names are deprecated, but there is no other way.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
const std::vector<AttributeRule>& AllRules() {
  constexpr auto kTensor = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  constexpr auto kConvolution = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR;
  constexpr auto kPointwise = CUDNN_BACKEND_POINTWISE_DESCRIPTOR;
  constexpr auto kConvolve = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
  constexpr auto kApply = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
  constexpr auto kGraph = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
  constexpr auto kHeuristics = CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
  constexpr auto kConfig = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
  constexpr auto kEngine = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  constexpr auto kKnob = CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR;
  constexpr auto kPlan = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
  constexpr auto kPack = CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;
  constexpr auto kDevice = CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR;
  constexpr auto kRefer = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  static const auto* const rules = new std::vector<AttributeRule>{
      {kTensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1, kRequired},
      {kTensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX, kRequired},
      {kTensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX, kRequired},
      {kTensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, 1, kRequired},
      {kTensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, 1, kRequired},
      {kTensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, 1, kOptional},
      {kConvolution, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1, kRequired},
      {kConvolution, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, 1,
       kRequired},
      {kConvolution, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 1, 3, kRequired},
      {kConvolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 1, 3, kRequired},
      {kConvolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 1, 3, kRequired},
      {kConvolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 1, 3, kRequired},
      {kConvolution, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, 1, kRequired},
      {kPointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, 1, kRequired},
      {kPointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1, kRequired},
      {kPointwise, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE, 1, 1, kOptional},
      {kPointwise, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_FLOAT, 1, 1, kOptional},
      {kPointwise, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1, 1, kOptional},
      {kPointwise, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_FLOAT, 1, 1, kOptional},
      {kConvolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, 1,
       kRequired},
      {kConvolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_DOUBLE, 1, 1,
       kRequired},
      {kConvolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, 1, kRequired},
      {kConvolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_DOUBLE, 1, 1,
       kRequired},
      {kConvolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, kRefer, 1, 1, kRequired,
       kConvolution},
      {kConvolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, kRefer, 1, 1, kRequired, kTensor},
      {kConvolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, kRefer, 1, 1, kRequired, kTensor},
      {kConvolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, kRefer, 1, 1, kRequired, kTensor},
      {kApply, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kRefer, 1, 1, kRequired, kPointwise},
      {kApply, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, kRefer, 1, 1, kRequired, kTensor},
      {kApply, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, kRefer, 1, 1, kOptional, kTensor},
      {kApply, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, kRefer, 1, 1, kRequired, kTensor},
      {kGraph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, 1, kOptional},
      {kGraph, CUDNN_ATTR_OPERATIONGRAPH_OPS, kRefer, 1, kMany, kRequired, -1},
      {kHeuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, kRefer, 1, 1, kRequired, kGraph},
      {kHeuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1, kRequired},
      {kHeuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, kRefer, 1, 1, kOptional, kDevice},
      {kHeuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, kRefer, 0, kMany, kReadOnly, kConfig},
      {kConfig, CUDNN_ATTR_ENGINECFG_ENGINE, kRefer, 1, 1, kRequired, kEngine},
      {kConfig, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, kRefer, 0, kMany, kOptional, kKnob},
      {kEngine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, kRefer, 1, 1, kRequired, kGraph},
      {kEngine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, 1, kRequired},
      {kEngine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 0,
       CUDNN_NUMERICAL_NOTE_TYPE_COUNT, kReadOnly},
      {kEngine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, 0,
       CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, kReadOnly},
      {kKnob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, 1, kRequired},
      {kKnob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, 1, kRequired},
      {kPlan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, 1, kOptional},
      {kPlan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, kRefer, 1, 1, kOptional, kDevice},
      {kPlan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, kRefer, 1, 1, kRequired, kConfig},
      {kPlan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, 1, kReadOnly},
      {kPack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 0, kMany, kOptional},
      {kPack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 0, kMany, kOptional},
      {kPack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 0, 1, kOptional},
      {kDevice, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 1, kMany, kOptional},
      {kDevice, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, 1, kOptional},
  };
  return *rules;
}
#pragma GCC diagnostic pop

const AttributeRule* FindRule(cudnnBackendDescriptorType_t descriptor,
                              cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
  const AttributeRule* found = nullptr;
  for (const AttributeRule& rule : AllRules()) {
    if (rule.descriptor != descriptor || rule.name != name) continue;
    if (found == nullptr || rule.type == type) found = &rule;
  }
  return found;
}

size_t BytesOf(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_CHAR:
    case CUDNN_TYPE_BOOLEAN:
      return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    default:
      return 4;
  }
}

}  // namespace ashlar::emulated
