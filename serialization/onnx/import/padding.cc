// Imports Pad.
#include "opr/pad.h"
#include "serialization/onnx/import/axes.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/names.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/import/values.h"

namespace ashlar {
namespace {

// Pads `x`; `pads` has the elements before each of these axes, then the elements after.
OnnxVar Padded(OnnxNode& node, OnnxVar x, const std::vector<int64_t>& pads,
               const std::vector<int64_t>& axes, double value) {
  PadParam param;
  param.mode = OnnxNamed<PadMode>(node, "mode", "constant",
                                  {{"constant", PadMode::kConstant},
                                   {"reflect", PadMode::kReflect},
                                   {"edge", PadMode::kEdge},
                                   {"wrap", PadMode::kWrap}});
  if (!node.ok()) return kNoOnnxVar;
  const int rank = node.rank(x);
  if (pads.size() != 2 * axes.size()) {
    return node.Invalid(
        absl::StrCat("pads has ", pads.size(), " elements, expected ", 2 * axes.size()));
  }
  param.begin.assign(rank, 0);
  param.end.assign(rank, 0);
  bool any = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = node.Axis(axes[i], rank);
    if (!node.ok()) return kNoOnnxVar;
    param.begin[axis] = pads[i];
    param.end[axis] = pads[i + axes.size()];
    any = any || pads[i] != 0 || pads[i + axes.size()] != 0;
  }
  param.value = value;
  return any ? node.Add<Pad>(std::move(param), {x}) : x;
}

OnnxVars PadByAttributes(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const std::vector<int64_t> pads = node.Ints(node.version() < 2 ? "paddings" : "pads");
  return Padded(node, x, pads, AllAxes(node.rank(x)), node.Float("value", 0));
}

OnnxVars PadByInputs(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const std::vector<int64_t> pads = node.KnownInts(1, "pads");
  const std::vector<int64_t> axes = node.has(3) ? node.KnownInts(3, "axes") : AllAxes(node.rank(x));
  if (!node.has(2)) return Padded(node, x, pads, axes, 0);
  const HostTensor* const value = node.constant(node.input(2));
  if (value != nullptr && (value->num_elements() != 1 || IsExactAsDouble(*value))) {
    return Padded(node, x, pads, axes, node.KnownNumber(2, "the value"));
  }
  // A value that is computed, or not exact as a double: pads with zeros, and selects the value in
  // the padding, which is found by padding ones.
  std::optional<HostTensor> ones = node.NewTensor(node.dtype(x), node.shape(x).dims());
  if (!ones) return kNoOnnxVar;
  for (int64_t i = 0; i < ones->num_elements(); ++i) ones->Set(i, 1);
  const OnnxVar inside = Padded(node, node.Constant(*std::move(ones)), pads, axes, 0);
  return node.Function(ScalarFunction::kSelect,
                       {inside, Padded(node, x, pads, axes, 0), node.Reshaped(node.input(2), {})});
}

// Crops or pads both sides equally; if the difference is odd, the far side takes one more.
OnnxVars CenterCropPad(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const std::vector<int64_t> sizes = node.KnownInts(1, "the shape");
  const std::vector<int64_t> axes = node.Ints("axes", AllAxes(node.rank(x)));
  if (!node.ok()) return kNoOnnxVar;
  if (sizes.size() != axes.size()) {
    return node.Invalid(absl::StrCat(sizes.size(), " sizes for ", axes.size(), " axes"));
  }
  std::vector<int64_t> pads(2 * axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = node.Axis(axes[i], node.rank(x));
    if (!node.ok()) return kNoOnnxVar;
    if (sizes[i] < 0) return node.Invalid(absl::StrCat("size ", sizes[i]));
    const int64_t added = sizes[i] - node.shape(x)[axis];
    pads[i] = added / 2;
    pads[i + axes.size()] = added - added / 2;
  }
  return Padded(node, x, pads, axes, 0);
}

// Pads other axes than that of the count.
OnnxVars CountedPad(OnnxNode& node, OnnxImportFunction run) {
  RefuseCounts(node, 1);
  const OnnxVar x = node.input(0);
  const OnnxCount* const count = node.count(x);
  if (!node.ok() || count == nullptr) return run(node);
  const int rank = node.rank(x);
  std::vector<int64_t> pads = node.version() >= 11
                                  ? node.KnownInts(1, "pads")
                                  : node.Ints(node.version() < 2 ? "paddings" : "pads");
  const std::vector<int64_t> axes =
      node.version() >= 11 && node.has(3) ? node.KnownInts(3, "axes") : AllAxes(rank);
  if (pads.size() != 2 * axes.size()) return run(node);  // reports it
  for (size_t i = 0; i < axes.size(); ++i) {
    if (node.Axis(axes[i], rank) != count->axis || (pads[i] == 0 && pads[i + axes.size()] == 0)) {
      continue;
    }
    return node.Unsupported("the size to pad depends on data");
  }
  const OnnxVars outputs = run(node);
  return node.ok() ? OnnxVars(node.Counted(outputs[0], *count)) : OnnxVars(kNoOnnxVar);
}

constexpr OnnxRow kPaddingRows[] = {
    OnnxRow("CenterCropPad", 2, 2, CenterCropPad).Limits("to a shape known before the run"),
    OnnxRow("Pad", 1, 1, PadByAttributes).Until(10).Counted(CountedPad),
    OnnxRow("Pad", 2, 4, PadByInputs)
        .Since(11)
        .Counted(CountedPad)
        .Limits("pads known before the run"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxPaddingRows() { return kPaddingRows; }

}  // namespace ashlar
