// Tracks the integers between DequantizeLinear and QuantizeLinear, operator by operator.
#include <algorithm>
#include <cmath>

#include "opr/pad.h"
#include "opr/reduce.h"
#include "opr/subtensor.h"
#include "serialization/onnx/import/axes.h"
#include "serialization/onnx/import/quantities.h"
#include "serialization/onnx/import/windows.h"

namespace ashlar {
namespace {

using Kind = OnnxQuantity::Kind;

constexpr int64_t kMostStepwise = 64;       // elements in a window
constexpr double kExactIntegers = 1 << 24;  // in Float32

// A tentative node: its errors are not errors of the model.
struct Trial {
  OnnxNode& node;
  OnnxImportFunction run;
  OnnxVar result;  // the first
  absl::Span<const OnnxVar> results;

  const OnnxQuantity* of(int i, Kind kind) const {
    const OnnxQuantity* quantity = node.has(i) ? node.quantity(node.input(i)) : nullptr;
    return quantity != nullptr && quantity->kind == kind ? quantity : nullptr;
  }
};

// The axis of channels in the weights of a linear operator, and in its result.
struct Channels {
  int weights, result;
  int64_t terms;  // products per sum
};

// Returns the 8-bit operator that sums these products; `bias` may be null.
using MadeBy = absl::FunctionRef<OnnxIntegerOperator(
    const OnnxQuantity& x, const OnnxQuantity& weights, const HostTensor* bias, OnnxLinear linear)>;

bool IsClose(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); }

// Returns the integers of a bias with the scales of the sums; null if it has other scales.
const HostTensor* IntegersOfBias(const Trial& trial, const OnnxQuantity& bias, OnnxVar scale,
                                 int64_t channels) {
  const HostTensor* const integers = trial.node.constant(bias.stored);
  const HostTensor* const own = trial.node.constant(bias.scale);
  const HostTensor* const sums = trial.node.constant(scale);
  if (integers == nullptr || own == nullptr || sums == nullptr ||
      integers->dtype() != DType::kInt32 || integers->num_elements() != channels) {
    return nullptr;
  }
  const int64_t count = own->num_elements(), sums_count = sums->num_elements();
  for (int64_t c = 0; c < channels; ++c) {
    if (count != 1 && count != channels) return nullptr;
    if (!IsClose(own->At(c % count), sums->At(c % sums_count))) return nullptr;
  }
  return integers;
}

// Records the sums of a linear operator; `made_by` gets its bias.
void NoteLinear(const Trial& trial, const Channels& channels, MadeBy made_by) {
  OnnxNode& node = trial.node;
  const OnnxQuantity* const x = trial.of(0, Kind::kElements);
  const OnnxQuantity* const w = trial.of(1, Kind::kElements);
  if (x == nullptr || w == nullptr || x->axis >= 0) return;
  if (w->axis >= 0 && w->axis != channels.weights) return;
  const int64_t count = node.shape(w->integers)[channels.weights];
  const OnnxVar scale = node.Product(x->scale, w->scale);
  const HostTensor* bias = nullptr;
  if (node.has(2)) {
    const OnnxQuantity* const noted = trial.of(2, Kind::kElements);
    if (noted != nullptr) bias = IntegersOfBias(trial, *noted, scale, count);
    if (bias == nullptr) return;
  }
  const auto linear = [&](OnnxVar a, OnnxVar b) {
    OnnxNode other = node.Exactly({a, b});
    const OnnxVars result = trial.run(other);
    return other.ok() ? result[0] : node.Fail(other.Finish());
  };
  const std::optional<OnnxIntegerSums> sums =
      SumsOfIntegers(node, linear, {x->integers, x->most}, {w->integers, w->most}, channels.weights,
                     channels.terms, bias, channels.result);
  OnnxQuantity quantity;
  quantity.made_by = made_by(*x, *w, bias, linear);
  quantity.kind = sums ? Kind::kSums : Kind::kFloats;
  if (!sums && quantity.made_by.op == nullptr) return;
  if (sums) {
    quantity.integers = sums->Rounded(node);
    quantity.scale = OnnxAlongAxis(node, scale, channels.result, node.rank(trial.result));
  }
  node.SetQuantity(trial.result, quantity);
}

void NoteConv(const Trial& trial) {
  const Shape& weights = trial.node.shape(trial.node.input(1));
  NoteLinear(
      trial, {0, 1, weights.num_elements() / std::max<int64_t>(weights[0], 1)},
      [&](const OnnxQuantity& x, const OnnxQuantity& w, const HostTensor* bias, OnnxLinear linear) {
        return IntegerConvolution(trial.node, linear(x.integers, w.integers), x, w, bias);
      });
}

void NoteProduct(const Trial& trial, const Channels& channels, bool plain) {
  NoteLinear(trial, channels,
             [&](const OnnxQuantity& x, const OnnxQuantity& w, const HostTensor* bias, OnnxLinear) {
               return plain ? IntegerProduct(trial.node, x, w, channels.weights, bias)
                            : OnnxIntegerOperator();
             });
}

void NoteGemm(const Trial& trial) {
  OnnxNode& node = trial.node;
  const bool scaled = node.Float("alpha", 1) != 1 || (node.has(2) && node.Float("beta", 1) != 1);
  const int channels = node.Int("transB", 0) != 0 ? 0 : 1;
  const Shape& weights = node.shape(node.input(1));
  if (scaled || weights.rank() != 2) return;
  NoteProduct(trial, {channels, 1, weights[1 - channels]}, node.Int("transA", 0) == 0);
}

void NoteMatMul(const Trial& trial) {
  OnnxNode& node = trial.node;
  const Shape& weights = node.shape(node.input(1));
  const int rank = weights.rank();
  if (rank < 2 || node.rank(node.input(0)) < 2) return;
  NoteProduct(trial, {rank - 1, node.rank(trial.result) - 1, weights[rank - 2]}, true);
}

// Clamping keeps sums.
void NoteClamped(const Trial& trial, double low, double high) {
  const OnnxQuantity* x = trial.of(0, Kind::kSums);
  if (x == nullptr) x = trial.of(0, Kind::kFloats);
  if (x == nullptr || !(low <= high)) return;
  OnnxQuantity quantity = *x;
  quantity.least = std::clamp(x->least, low, high);
  quantity.greatest = std::clamp(x->greatest, low, high);
  trial.node.SetQuantity(trial.result, quantity);
}

void NoteRelu(const Trial& trial) { NoteClamped(trial, 0, kInfinity); }

void NoteClip(const Trial& trial) {
  OnnxNode& node = trial.node;
  if (node.version() < 11) {
    NoteClamped(trial, node.Float("min", -kInfinity), node.Float("max", kInfinity));
    return;
  }
  const double low = node.has(1) ? node.KnownNumber(1, "min") : -kInfinity;
  const double high = node.has(2) ? node.KnownNumber(2, "max") : kInfinity;
  if (node.ok()) NoteClamped(trial, low, high);
}

int64_t PixelsOf(const Shape& image) { return image[2] * image[3]; }

// A mean is the exact sum of the integers; the count divides the scale.
void NoteMean(const Trial& trial, const std::vector<int64_t>& axes) {
  OnnxNode& node = trial.node;
  const OnnxQuantity* const x = trial.of(0, Kind::kElements);
  if (x == nullptr || x->axis >= 0) return;
  Shape kept = node.shape(x->integers);
  double count = 1;
  for (const int64_t given : axes) {
    const int axis = node.Axis(given, kept.rank());
    if (!node.ok()) return;
    count *= static_cast<double>(kept[axis]);
    kept[axis] = 1;
  }
  if (count * x->most >= kExactIntegers) return;
  OnnxQuantity quantity;
  quantity.kind = Kind::kSums;
  quantity.integers =
      node.Add<Reduce>({ReduceMode::kSum}, {x->integers, node.IntVector(kept.dims())});
  quantity.integers = node.Reshaped(quantity.integers, node.shape(trial.result));
  quantity.scale = x->scale;
  quantity.count = count;
  if (kept.rank() == 4 && count == static_cast<double>(PixelsOf(node.shape(x->integers))) &&
      kept[2] * kept[3] == 1) {
    quantity.made_by = IntegerMean(node, *x);
  }
  node.SetQuantity(trial.result, quantity);
}

void NoteGlobalAveragePool(const Trial& trial) {
  std::vector<int64_t> axes;
  for (int axis = 2; axis < trial.node.rank(trial.node.input(0)); ++axis) axes.push_back(axis);
  NoteMean(trial, axes);
}

void NoteReduceMean(const Trial& trial) {
  OnnxNode& node = trial.node;
  std::vector<int64_t> axes = node.Ints("axes");
  if (node.has(1)) axes = node.KnownInts(1, "axes");
  if (axes.empty() && node.Int("noop_with_empty_axes", 0) != 0) return;
  if (axes.empty()) axes = AllAxes(node.rank(node.input(0)));
  if (node.ok()) NoteMean(trial, axes);
}

// Returns element `step` of each window along each axis, for an image with its padding.
OnnxVar ElementsOfWindows(OnnxNode& node, OnnxVar padded, const std::vector<OnnxWindow>& windows,
                          absl::Span<const int64_t> steps) {
  SubtensorParam param;
  std::vector<OnnxVar> inputs = {padded};
  for (size_t i = 0; i < windows.size(); ++i) {
    param.axis.push_back(static_cast<int64_t>(i) + 2);
    for (std::vector<int64_t>* given : {&param.begin, &param.end, &param.step}) given->push_back(1);
    param.idx.push_back(0);
    const int64_t first = steps[i] * windows[i].dilation;
    const int64_t last = first + (windows[i].output() - 1) * windows[i].stride;
    for (const int64_t bound : {first, last + 1, windows[i].stride}) {
      inputs.push_back(node.IntVector({bound}));
    }
  }
  return node.Add<Subtensor>(std::move(param), std::move(inputs));
}

// Returns, by window along an axis, the number of elements by which its sum is divided.
OnnxVar CountsOf(OnnxNode& node, const OnnxWindow& window, bool padding_counts, Shape along,
                 int axis) {
  along[axis] = window.output();
  std::optional<HostTensor> counts = node.NewTensor(DType::kFloat32, along.dims());
  if (!counts) return kNoOnnxVar;
  for (int64_t o = 0; o < window.output(); ++o) {
    int64_t count = 0;
    for (int64_t k = 0; k < window.window; ++k) {
      const int64_t at = o * window.stride + k * window.dilation - window.pad_begin;
      const bool inside = at >= 0 && at < window.input;
      count += inside || (padding_counts && at < window.input + window.pad_end);
    }
    counts->Set(o, static_cast<double>(count));
  }
  return node.Constant(*std::move(counts));
}

// Means of few elements are often exact halves, so the rounding matters: adds the elements one by
// one, then divides.
void NoteAveragePool(const Trial& trial) {
  OnnxNode& node = trial.node;
  const OnnxVar x = node.input(0);
  if (trial.of(0, Kind::kElements) == nullptr) return;
  const std::vector<OnnxWindow> windows = OnnxWindows(node, node.shape(x), {}, true);
  const bool padding_counts = node.Int("count_include_pad", 0) != 0;
  PadParam pad = {PadMode::kConstant, {0, 0}, {0, 0}};
  int64_t elements = 1;
  bool pads = false;
  for (const OnnxWindow& window : windows) {
    elements *= std::min(window.window, kMostStepwise + 1);
    if (elements > kMostStepwise || window.pad_begin < 0 || window.pad_end < 0) return;
    pad.begin.push_back(window.pad_begin);
    pad.end.push_back(window.pad_end + window.ceil_end);
    pads = pads || pad.begin.back() > 0 || pad.end.back() > 0;
  }
  if (!node.ok()) return;
  const OnnxVar padded = pads ? node.Add<Pad>(std::move(pad), {x}) : x;
  std::vector<int64_t> steps(windows.size(), 0);
  OnnxVar sum = ElementsOfWindows(node, padded, windows, steps);
  for (int64_t i = 1; i < elements; ++i) {
    for (size_t axis = windows.size(); axis-- > 0;) {  // the last axis varies fastest
      if (++steps[axis] < windows[axis].window) break;
      steps[axis] = 0;
    }
    sum = node.Sum(sum, ElementsOfWindows(node, padded, windows, steps));
  }
  OnnxVar count = node.Scalar(1, DType::kFloat32);
  for (size_t i = 0; i < windows.size(); ++i) {
    const Shape along(std::vector<int64_t>(windows.size() + 2, 1));
    const int axis = static_cast<int>(i) + 2;
    count = node.Product(CountsOf(node, windows[i], padding_counts, along, axis), count);
  }
  OnnxQuantity quantity;
  quantity.kind = Kind::kStepwise;
  quantity.integers = node.Quotient(sum, count);
  node.SetQuantity(trial.result, quantity);
}

// Operators that only move elements move their integers.
void NoteMoved(const Trial& trial) {
  OnnxNode& node = trial.node;
  const OnnxQuantity* const x = trial.of(0, Kind::kElements);
  if (x == nullptr) return;
  OnnxQuantity quantity = *x;
  if (x->axis >= 0) {
    const std::vector<int64_t> pattern = node.Ints("perm");
    const auto moved = std::find(pattern.begin(), pattern.end(), x->axis);
    if (moved == pattern.end()) return;
    quantity.axis = static_cast<int>(moved - pattern.begin());
  }
  const OnnxVar integers = x->integers, quantized = x->quantized;
  const auto moved_from = [&](OnnxVar x0) {
    std::vector<OnnxVar> inputs = node.inputs();
    inputs[0] = x0;
    OnnxNode other = node.Exactly(std::move(inputs));
    OnnxVars moved = trial.run(other);
    if (!other.ok() || moved.size() != trial.results.size()) moved.clear();
    return moved;
  };
  const OnnxVars all = moved_from(integers);
  const OnnxVars bytes = quantized != kNoOnnxVar ? moved_from(quantized) : OnnxVars();
  for (size_t i = 0; i < all.size(); ++i) {
    if (trial.results[i] == kNoOnnxVar || all[i] == kNoOnnxVar) continue;
    quantity.integers = all[i];
    quantity.stored = kNoOnnxVar;
    quantity.quantized = bytes.empty() ? kNoOnnxVar : bytes[i];
    node.SetQuantity(trial.results[i], quantity);
  }
}

// Only the nearest elements are moved.
void NoteResized(const Trial& trial) {
  OnnxNode& node = trial.node;
  const bool nearest = node.Text("mode", "nearest") == "nearest";
  const std::string coordinates = node.Text("coordinate_transformation_mode", "half_pixel");
  if (nearest && coordinates != "tf_crop_and_resize") NoteMoved(trial);
}

struct NoteRow {
  const char* type;
  void (*note)(const Trial& trial);
};

constexpr NoteRow kNoteRows[] = {
    {"AveragePool", NoteAveragePool},
    {"Clip", NoteClip},
    {"Conv", NoteConv},
    {"DepthToSpace", NoteMoved},
    {"Flatten", NoteMoved},
    {"Gemm", NoteGemm},
    {"GlobalAveragePool", NoteGlobalAveragePool},
    {"MatMul", NoteMatMul},
    {"ReduceMean", NoteReduceMean},
    {"Relu", NoteRelu},
    {"Reshape", NoteMoved},
    {"Resize", NoteResized},
    {"Slice", NoteMoved},
    {"SpaceToDepth", NoteMoved},
    {"Split", NoteMoved},
    {"Squeeze", NoteMoved},
    {"Transpose", NoteMoved},
    {"Unsqueeze", NoteMoved},
};

}  // namespace

void NoteQuantities(const OnnxNode& node, OnnxImportFunction run,
                    absl::Span<const OnnxVar> results) {
  const OnnxVar result = results[0];
  if (node.inputs().empty() || node.inputs()[0] == kNoOnnxVar ||
      node.quantity(node.inputs()[0]) == nullptr) {
    return;
  }
  for (const NoteRow& row : kNoteRows) {
    if (node.type() != row.type) continue;
    OnnxNode trial = node.Exactly(node.inputs());
    row.note({trial, run, result, results});
  }
  const OnnxQuantity* const noted = node.quantity(result);
  if (noted != nullptr && (noted->kind == Kind::kElements || noted->made_by.op != nullptr)) return;
  OnnxQuantity quantity = noted != nullptr ? *noted : OnnxQuantity{.kind = Kind::kFloats};
  quantity.made_by = IntegerOperator(node, result);
  if (quantity.made_by.op == nullptr) return;
  OnnxNode other = node.Exactly(node.inputs());
  other.SetQuantity(result, quantity);
}

}  // namespace ashlar
