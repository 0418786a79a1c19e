// Exports operators that gather, scatter, compare and repeat elements.
#include "graph/status.h"
#include "opr/arg_reduce.h"
#include "opr/cum_sum.h"
#include "opr/expand.h"
#include "opr/gather.h"
#include "opr/pad.h"
#include "opr/scatter.h"
#include "opr/top_k.h"
#include "serialization/onnx/export/operators.h"

namespace ashlar {
namespace {

// Sets the attribute for joining updates, which the older operator set lacks.
absl::StatusOr<OnnxValues> Scattered(OnnxEmitter& emitter, const char* type,
                                     const std::string& indices, ScatterReduction reduction,
                                     std::vector<OnnxAttribute> attributes) {
  static constexpr const char* kNames[] = {"none", "add", "mul", "max", "min"};
  if (reduction != ScatterReduction::kNone) {
    if (!emitter.rich()) return absl::UnimplementedError("updates that are joined");
    attributes.push_back({"reduction", kNames[static_cast<size_t>(reduction)]});
  }
  return emitter.Add(type, {emitter.input(0), indices, emitter.input(2)}, attributes);
}

// Returns input 1 as Int64, the only type for tuples of indices in ONNX.
std::string Tuples(OnnxEmitter& emitter) {
  if (emitter.input_type(1).dtype == DType::kInt64) return emitter.input(1);
  return emitter.Add("Cast", {emitter.input(1)}, {{"to", int64_t{OnnxType(DType::kInt64)}}});
}

// Returns a constant number of rank 0.
std::string Integer(OnnxEmitter& emitter, int64_t value) {
  return emitter.Tensor(HostTensor::FromValues<int64_t>(DType::kInt64, {}, {&value, 1}));
}

}  // namespace

absl::StatusOr<OnnxValues> OnnxGather(OnnxEmitter& emitter) {
  return emitter.Add("Gather", {emitter.input(0), emitter.input(1)},
                     {{"axis", emitter.op<Gather>().param().axis}});
}

absl::StatusOr<OnnxValues> OnnxGatherElements(OnnxEmitter& emitter) {
  return emitter.Add("GatherElements", {emitter.input(0), emitter.input(1)},
                     {{"axis", emitter.op<GatherElements>().param().axis}});
}

absl::StatusOr<OnnxValues> OnnxGatherND(OnnxEmitter& emitter) {
  return emitter.Add("GatherND", {emitter.input(0), Tuples(emitter)},
                     {{"batch_dims", emitter.op<GatherND>().param().batch_dims}});
}

absl::StatusOr<OnnxValues> OnnxScatterElements(OnnxEmitter& emitter) {
  const ScatterElementsParam& param = emitter.op<ScatterElements>().param();
  return Scattered(emitter, "ScatterElements", emitter.input(1), param.reduction,
                   {{"axis", param.axis}});
}

absl::StatusOr<OnnxValues> OnnxScatterND(OnnxEmitter& emitter) {
  return Scattered(emitter, "ScatterND", Tuples(emitter), emitter.op<ScatterND>().param().reduction,
                   {});
}

absl::StatusOr<OnnxValues> OnnxExpand(OnnxEmitter& emitter) {
  const absl::Span<const int64_t> dims = emitter.output_type().shape.dims();
  return emitter.Add("Expand", {emitter.input(0), emitter.Ints({dims.begin(), dims.end()})});
}

absl::StatusOr<OnnxValues> OnnxArgReduce(OnnxEmitter& emitter) {
  const ArgReduceParam& param = emitter.op<ArgReduce>().param();
  return emitter.Add(
      param.mode == ArgReduceMode::kMax ? "ArgMax" : "ArgMin", {emitter.input(0)},
      {{"axis", param.axis}, {"keepdims", int64_t{1}}, {"select_last_index", int64_t{param.last}}});
}

absl::StatusOr<OnnxValues> OnnxCumSum(OnnxEmitter& emitter) {
  const CumSumParam& param = emitter.op<CumSum>().param();
  return emitter.Add(
      "CumSum", {emitter.input(0), Integer(emitter, param.axis)},
      {{"exclusive", int64_t{param.exclusive}}, {"reverse", int64_t{param.reverse}}});
}

absl::StatusOr<OnnxValues> OnnxTopK(OnnxEmitter& emitter) {
  const TopKParam& param = emitter.op<TopK>().param();
  OnnxValues values = emitter.Add("TopK", {emitter.input(0), emitter.Ints({param.k})},
                                  {{"axis", param.axis}, {"largest", int64_t{param.largest}}});
  values.push_back(emitter.AddOutput());
  return values;
}

absl::StatusOr<OnnxValues> OnnxPad(OnnxEmitter& emitter) {
  static constexpr const char* kModes[] = {"constant", "reflect", "edge", "wrap"};
  const PadParam& param = emitter.op<Pad>().param();
  if (param.mode == PadMode::kWrap && !emitter.rich()) return absl::UnimplementedError("mode WRAP");
  std::vector<int64_t> pads = param.begin;
  pads.insert(pads.end(), param.end.begin(), param.end.end());
  std::vector<std::string> inputs = {emitter.input(0), emitter.Ints(pads)};
  if (param.mode == PadMode::kConstant) inputs.push_back(emitter.Scalar(param.value));
  return emitter.Add("Pad", inputs, {{"mode", kModes[static_cast<size_t>(param.mode)]}});
}

}  // namespace ashlar
