// Imports convolutions: in two and three dimensions, and in one as images of height 1.
#include <algorithm>
#include <tuple>

#include "opr/concat.h"
#include "opr/convolution.h"
#include "opr/convolution3d.h"
#include "opr/convolution_backward_data.h"
#include "opr/grid_sample.h"
#include "opr/pad.h"
#include "opr/split.h"
#include "opr/subtensor.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/import/windows.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

Convolution3DParam VolumesParam(const OnnxWindow& d, const OnnxWindow& h, const OnnxWindow& w) {
  Convolution3DParam param = ParamOf<Convolution3DParam>(h, w);
  std::tie(param.stride_d, param.pad_d, param.pad_d_end, param.dilate_d) = d.steps();
  return param;
}

// Reports an error if image and weights differ in rank, or if the weights do not divide into
// groups.
void CheckRanks(OnnxNode& node, const Shape& image, const Shape& filter) {
  if (filter.rank() == image.rank() && image.rank() >= 3) return;
  node.Invalid(absl::StrCat("input is ", image.ToString(), ", weights are ", filter.ToString(),
                            ", expected [N, C, ...] of one rank"));
}
void CheckGroups(OnnxNode& node, int64_t groups, const Shape& filter) {
  if (groups >= 1 && filter[0] % groups == 0) return;
  node.Invalid(absl::StrCat("group is ", groups, " for weights ", filter.ToString()));
}

// Convolves input [N, C, ...] with weights [M, C / groups, ...].
template <typename Convolution>
OnnxVar Convolve(OnnxNode& node, OnnxVar x, OnnxVar weights, int64_t groups,
                 typename Convolution::Param param) {
  const Shape shape = node.shape(weights);
  CheckGroups(node, groups, shape);
  if (!node.ok()) return kNoOnnxVar;
  if constexpr (requires { param.compute_mode; }) {  // 3-D convolutions have only one compute mode
    if (node.exact()) param.compute_mode = ComputeMode::kFloat32;
  }
  if (groups > 1) {
    param.sparse = SparseMode::kGroup;
    Shape grouped = {groups, shape[0] / groups};
    for (int i = 1; i < shape.rank(); ++i) grouped.push_back(shape[i]);
    weights = node.Reshaped(weights, grouped);
  }
  return node.Add<Convolution>(param, {x, weights});
}

// Returns y + bias, which has one value per channel.
OnnxVar WithBias(OnnxNode& node, OnnxVar y, OnnxVar bias) {
  Shape along = {1, node.shape(y)[1]};
  while (along.rank() < node.rank(y)) along.push_back(1);
  if (node.shape(bias) != Shape{along[1]}) {
    return node.Invalid(
        absl::StrCat("bias is ", node.shape(bias).ToString(), ", expected {", along[1], "}"));
  }
  return node.Sum(y, node.Reshaped(bias, along));
}

OnnxVar ConvOf(OnnxNode& node) {
  OnnxVar x = node.input(0), weights = node.input(1);
  const Shape image = node.shape(x), filter = node.shape(weights);
  const int64_t groups = node.Int("group", 1);
  CheckRanks(node, image, filter);
  if (!node.ok()) return kNoOnnxVar;
  std::vector<int64_t> kernel(filter.dims().begin() + 2, filter.dims().end());
  const std::vector<OnnxWindow> windows = OnnxWindows(node, image, kernel, false);
  if (!node.ok()) return kNoOnnxVar;
  OnnxVar y = kNoOnnxVar;
  if (windows.size() == 2) {
    y = Convolve<ConvolutionForward>(node, x, weights, groups,
                                     ParamOf<ConvolutionParam>(windows[0], windows[1]));
  } else if (windows.size() == 1) {
    x = node.Reshaped(x, {image[0], image[1], 1, image[2]});
    weights = node.Reshaped(weights, {filter[0], filter[1], 1, filter[2]});
    y = Convolve<ConvolutionForward>(node, x, weights, groups,
                                     ParamOf<ConvolutionParam>({1}, windows[0]));
    y = node.Reshaped(y, {image[0], filter[0], windows[0].output()});
  } else if (windows.size() == 3) {
    y = Convolve<Convolution3DForward>(node, x, weights, groups,
                                       VolumesParam(windows[0], windows[1], windows[2]));
  } else {
    return node.Unsupported(absl::StrCat("in ", windows.size(), " dimensions"));
  }
  return node.has(2) && node.ok() ? WithBias(node, y, node.input(2)) : y;
}

OnnxVars Conv(OnnxNode& node) { return ConvOf(node); }

// Returns the coordinates of window taps along one axis of the image, for a sampling grid. The
// windows are shifted by `offset` [ND, K, 1, oh, ow], in pixels.
OnnxVar TapsAlong(OnnxNode& node, OnnxVar offset, int axis, const OnnxWindow (&windows)[2]) {
  const Shape shape = node.shape(offset);  // [ND, K, 1, oh, ow]
  std::optional<HostTensor> places =
      node.NewTensor(DType::kFloat32, {shape[1], 1, shape[3], shape[4]});
  if (!places) return kNoOnnxVar;
  const OnnxWindow& window = windows[axis];
  const auto size = static_cast<double>(window.input);
  for (int64_t i = 0; i < places->num_elements(); ++i) {
    const int64_t column = i % shape[4], row = i / shape[4] % shape[3];
    const int64_t tap = i / (shape[3] * shape[4]);
    const int64_t at = axis == 0 ? tap / windows[1].window : tap % windows[1].window;
    const int64_t pixel =
        (axis == 0 ? row : column) * window.stride - window.pad_begin + at * window.dilation;
    places->Set(i, (2 * static_cast<double>(pixel) + 1) / size - 1);
  }
  return node.Sum(node.Product(offset, 2 / size), node.Constant(*std::move(places)));
}

// Samples the image at the taps of all windows, then convolves the samples without overlap.
OnnxVars DeformConv(OnnxNode& node) {
  const OnnxVar x = node.input(0), weights = node.input(1), offset = node.input(2);
  const Shape image = node.shape(x), filter = node.shape(weights);
  const int64_t groups = node.Int("group", 1), parts = node.Int("offset_group", 1);
  CheckRanks(node, image, filter);
  if (!node.ok()) return kNoOnnxVar;
  if (image.rank() != 4) return node.Unsupported("in other than two dimensions");
  CheckGroups(node, groups, filter);
  const std::vector<OnnxWindow> axes = OnnxWindows(node, image, {filter[2], filter[3]}, false);
  if (!node.ok()) return kNoOnnxVar;
  const OnnxWindow windows[2] = {axes[0], axes[1]};
  const int64_t taps = filter[2] * filter[3], n = image[0], channels = image[1];
  const int64_t height = windows[0].output(), width = windows[1].output();
  if (parts < 1 || channels % parts != 0 || filter[1] * groups != channels ||
      node.shape(offset) != Shape{n, parts * taps * 2, height, width} ||
      (node.has(4) && node.shape(node.input(4)) != Shape{n, parts * taps, height, width})) {
    return node.Invalid(absl::StrCat("offset is ", node.shape(offset).ToString(), ", expected {", n,
                                     ",", parts * taps * 2, ",", height, ",", width, "}"));
  }
  const OnnxVars offsets =
      node.AddOperator(std::make_shared<const Split>(SplitParam{2, {1, 1}}),
                       {node.Reshaped(offset, {n * parts, taps, 2, height, width})});
  if (!node.ok()) return kNoOnnxVar;
  const auto along = [&](int axis) {
    return node.Reshaped(TapsAlong(node, offsets[static_cast<size_t>(axis)], axis, windows),
                         {n * parts, taps * height, width, 1});
  };
  const OnnxVar grid = node.Add<Concat>({3}, {along(1), along(0)});
  OnnxVar samples = node.Add<GridSample>(
      {}, {node.Reshaped(x, {n * parts, channels / parts, image[2], image[3]}), grid});
  if (node.has(4)) {
    samples =
        node.Product(samples, node.Reshaped(node.input(4), {n * parts, 1, taps * height, width}));
  }
  const OnnxVar y = Convolve<ConvolutionForward>(
      node, node.Reshaped(samples, {n, channels * taps, height, width}),
      node.Reshaped(weights, {filter[0], filter[1] * taps, 1, 1}), groups, ConvolutionParam());
  return node.has(3) && node.ok() ? WithBias(node, y, node.input(3)) : y;
}

// The activation may be preceded by an addend.
OnnxVars FusedConv(OnnxNode& node) {
  const std::string activation = node.Text("activation", "");
  const std::vector<float> given = node.Floats("activation_params");
  OnnxVar y = ConvOf(node);
  if (node.has(3)) y = node.Sum(y, node.input(3));
  const auto parameter = [&](size_t i, double fallback) {
    return i < given.size() ? static_cast<double>(given[i]) : fallback;
  };
  if (activation.empty()) return y;
  if (activation == "Relu") return node.Function(F::kRelu, {y});
  if (activation == "Sigmoid") return node.Function(F::kSigmoid, {y});
  if (activation == "Tanh") return node.Function(F::kTanh, {y});
  if (activation == "LeakyRelu") {
    return node.Function(F::kLeakyRelu, {y}, {parameter(0, 0.01)});
  }
  if (activation == "Clip" && given.size() == 2 && given[0] <= given[1]) {
    return node.Function(F::kClamp, {y}, {given[0], given[1]});
  }
  if (activation == "HardSigmoid") {
    const OnnxVar line = node.Sum(node.Product(y, parameter(0, 0.2)), parameter(1, 0.5));
    return node.Function(F::kClamp, {line}, {0, 1});
  }
  return node.Unsupported(absl::StrCat("activation '", activation.substr(0, 64), "'"));
}

// Chooses the padding for an output size. An odd row comes after for SAME_UPPER, otherwise before.
// If windows do not reach the whole output, the missing part is at its end.
void PadTo(OnnxWindow& window, int64_t output, int64_t more, bool upper) {
  const int64_t total = window.stride * (window.input - 1) + more + window.extent() - output;
  const int64_t half = std::max<int64_t>(total, 0) / 2;
  window.pad_begin = upper || total < 0 ? half : total - half;
  window.pad_end = total - window.pad_begin;
}

// Reverses the elements along an axis.
OnnxVar Reversed(OnnxNode& node, OnnxVar var, int64_t axis) {
  const int64_t size = node.shape(var)[static_cast<int>(axis)];
  if (size <= 1) return var;
  return node.Add<Subtensor>(
      {{axis}, {1}, {1}, {1}, {0}},
      {var, node.IntVector({size - 1}), node.IntVector({-size - 1}), node.IntVector({-1})});
}

// Computes a transposed 3-D convolution as a convolution: inserts stride - 1 zeros after each
// element, reverses the filters, and swaps their inputs and outputs.
OnnxVar TransposedVolumes(OnnxNode& node, OnnxVar x, OnnxVar weights, int64_t groups,
                          std::vector<OnnxWindow> windows) {
  const Shape image = node.shape(x), filter = node.shape(weights);
  Shape apart = {image[0], image[1]}, spread = apart;
  PadParam zeros, cut;
  zeros.begin.assign(Shape::kMaxRank, 0);
  zeros.end = {0, 0};
  cut.begin = cut.end = {0, 0};
  bool cuts = false, spreads = false;
  for (OnnxWindow& window : windows) {
    apart.push_back(window.input);
    apart.push_back(1);
    spread.push_back(window.input * window.stride);
    zeros.end.push_back(0);
    zeros.end.push_back(window.stride - 1);
    const int64_t reach = window.extent() - 1, more = window.stride - 1;
    const int64_t begin = reach - window.pad_begin, end = reach - window.pad_end - more;
    cut.begin.push_back(std::min<int64_t>(begin, 0));
    cut.end.push_back(std::min<int64_t>(end, 0));
    cuts = cuts || begin < 0 || end < 0;
    spreads = spreads || more > 0;
    window.pad_begin = std::max<int64_t>(begin, 0);
    window.pad_end = std::max<int64_t>(end, 0);
    window.stride = 1;
  }
  if (!Shape::Make(spread.dims()).ok()) return node.Invalid("the output is too large");
  if (spreads) x = node.Reshaped(node.Add<Pad>(zeros, {node.Reshaped(x, apart)}), spread);
  if (cuts) x = node.Add<Pad>(cut, {x});
  const int64_t inputs = filter[0] / groups;
  weights = node.Reshaped(weights, {groups, inputs, filter[1], filter[2], filter[3], filter[4]});
  weights = node.Reshaped(node.Permuted(weights, {0, 2, 1, 3, 4, 5}),
                          {groups * filter[1], inputs, filter[2], filter[3], filter[4]});
  for (const int64_t axis : {2, 3, 4}) weights = Reversed(node, weights, axis);
  return Convolve<Convolution3DForward>(node, x, weights, groups,
                                        VolumesParam(windows[0], windows[1], windows[2]));
}

OnnxVars ConvTranspose(OnnxNode& node) {
  OnnxVar x = node.input(0), weights = node.input(1);
  const Shape image = node.shape(x), filter = node.shape(weights);
  const int64_t groups = node.Int("group", 1);
  const std::string auto_pad = node.Text("auto_pad", "NOTSET");
  const std::vector<int64_t> given = node.Ints("output_shape");
  if (!node.ok()) return kNoOnnxVar;
  CheckRanks(node, image, filter);
  if (!node.ok()) return kNoOnnxVar;
  const int axes = image.rank() - 2;
  if (axes > 3) return node.Unsupported(absl::StrCat("in ", axes, " dimensions"));
  CheckGroups(node, groups, filter);
  if (!node.ok()) return kNoOnnxVar;
  const std::vector<int64_t> more = node.Ints("output_padding", std::vector<int64_t>(axes, 0));
  if (static_cast<int>(more.size()) != axes ||
      (!given.empty() && static_cast<int>(given.size()) != axes)) {
    return node.Invalid("output_padding or output_shape has not one for each axis");
  }
  // The file's padding is checked like the padding of a convolution of the output.
  std::vector<OnnxWindow> windows = OnnxTransposedWindows(
      node, image, std::vector<int64_t>(filter.dims().begin() + 2, filter.dims().end()));
  if (!node.ok()) return kNoOnnxVar;
  const bool upper = auto_pad == "SAME_UPPER", same = upper || auto_pad == "SAME_LOWER";
  for (int i = 0; i < axes; ++i) {
    if (same || !given.empty()) {
      const int64_t output = given.empty() ? windows[i].input * windows[i].stride : given[i];
      PadTo(windows[i], output, more[i], upper);
    }
    windows[i].pad_end -= more[i];
  }
  if (axes == 3) {
    const OnnxVar y = TransposedVolumes(node, x, weights, groups, windows);
    return node.has(2) && node.ok() ? WithBias(node, y, node.input(2)) : y;
  }
  const bool flat = axes == 1;
  const OnnxWindow h = flat ? OnnxWindow{1} : windows[0], w = windows.back();
  ConvolutionParam param = ParamOf<ConvolutionParam>(h, w);
  Shape shape = {filter[0] / groups, filter[1], h.window, w.window};
  if (groups > 1) {
    param.sparse = SparseMode::kGroup;
    shape = {groups, shape[0], shape[1], shape[2], shape[3]};
  }
  if (flat) x = node.Reshaped(x, {image[0], image[1], 1, image[2]});
  OnnxVar y = node.Add<ConvolutionBackwardData>(param, {x, node.Reshaped(weights, shape)});
  if (flat) y = node.Reshaped(y, {image[0], groups * filter[1], node.shape(y)[3]});
  return node.has(2) && node.ok() ? WithBias(node, y, node.input(2)) : y;
}

// Convolves each channel with its own filter over the present and earlier positions; those before
// the first come from the state, which the last ones become.
OnnxVars CausalConvWithState(OnnxNode& node) {
  OnnxVar x = node.input(0);
  const OnnxVar weights = node.input(1);
  const std::string activation = node.Text("activation", "none");
  if (!node.ok()) return kNoOnnxVar;
  const Shape image = node.shape(x), filter = node.shape(weights);
  if (image.rank() != 3 || filter.rank() != 3 || filter[0] != image[1] || filter[1] != 1 ||
      filter[2] < 1) {
    return node.Invalid(absl::StrCat("input is ", image.ToString(), ", weights are ",
                                     filter.ToString(),
                                     ", expected [N, C, length] and [C, 1, size]"));
  }
  const int64_t before = filter[2] - 1;
  if (node.has(3)) {
    const Shape state = {image[0], image[1], before};
    if (node.shape(node.input(3)) != state) {
      return node.Invalid(absl::StrCat("past_state is ", node.shape(node.input(3)).ToString(),
                                       ", expected ", state.ToString()));
    }
    if (before > 0) x = node.Add<Concat>({2}, {node.input(3), x});
  } else {
    x = node.Padded(x, 2, before, 0);
  }
  OnnxVar y = Convolve<ConvolutionForward>(
      node, node.Reshaped(x, {image[0], image[1], 1, before + image[2]}),
      node.Reshaped(weights, {filter[0], 1, 1, filter[2]}), image[1], ConvolutionParam{});
  y = node.Reshaped(y, image);
  if (node.has(2) && node.ok()) y = WithBias(node, y, node.input(2));
  if (activation == "silu" || activation == "swish") {
    y = node.Product(y, node.Function(F::kSigmoid, {y}));
  } else if (activation != "none") {
    return node.Invalid(absl::StrCat("activation is '", activation, "'"));
  }
  OnnxVars results = y;
  if (node.has_output(1)) results.push_back(node.Padded(x, 2, -image[2], 0));
  return results;
}

constexpr OnnxRow kConvolutionRows[] = {
    OnnxRow("CausalConvWithState", 2, 4, CausalConvWithState).OfDoubles().Since(27),
    OnnxRow("Conv", 2, 3, Conv).OfDoubles().Counted(CountedBatch).Limits("1 to 3 dimensions"),
    OnnxRow("ConvTranspose", 2, 3, ConvTranspose)
        .OfDoubles()
        .Counted(CountedBatch)
        .Limits("1 to 3 dimensions"),
    OnnxRow("DeformConv", 3, 5, DeformConv).Limits("2 dimensions"),
    OnnxRow("FusedConv", 2, 4, FusedConv)
        .OfDoubles()
        .In(kMicrosoftDomain)
        .Limits("1 to 3 dimensions"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxConvolutionRows() { return kConvolutionRows; }

}  // namespace ashlar
