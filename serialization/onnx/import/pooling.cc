// Imports pooling: in two dimensions, in one as images of height 1, in three as two poolings.
#include "opr/pooling.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "opr/arg_reduce.h"
#include "opr/gather.h"
#include "opr/pad.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/import/windows.h"

namespace ashlar {
namespace {

OnnxVar Pool(OnnxNode& node, OnnxVar x, PoolingMode mode, const OnnxWindow& h,
             const OnnxWindow& w) {
  PoolingParam param = ParamOf<PoolingParam>(h, w);
  param.mode = mode;
  param.window_h = h.window;
  param.window_w = w.window;
  return node.Add<PoolingForward>(param, {x});
}

// Pools the last one, two or three dimensions. In three dimensions, pools two, then the first. This
// is valid for maxima, and for means whose divisors are products.
OnnxVar PoolAll(OnnxNode& node, OnnxVar x, PoolingMode mode,
                const std::vector<OnnxWindow>& windows) {
  const Shape from = node.shape(x);
  if (!node.ok()) return kNoOnnxVar;
  if (windows.size() == 2) return Pool(node, x, mode, windows[0], windows[1]);
  const OnnxWindow none = {1};
  if (windows.size() == 1) {
    const OnnxVar image = node.Reshaped(x, {from[0], from[1], 1, from[2]});
    const OnnxVar pooled = Pool(node, image, mode, none, windows[0]);
    return node.Reshaped(pooled, {from[0], from[1], windows[0].output()});
  }
  if (windows.size() != 3) return node.Unsupported("in four dimensions or more");
  const OnnxVar planes = node.Reshaped(x, {from[0], from[1] * from[2], from[3], from[4]});
  const OnnxVar pooled = Pool(node, planes, mode, windows[1], windows[2]);
  const int64_t plane = windows[1].output() * windows[2].output();
  const OnnxVar columns = node.Reshaped(pooled, {from[0], from[1], from[2], plane});
  OnnxWindow across = none;
  across.input = plane;
  const OnnxVar result = Pool(node, columns, mode, windows[0], across);
  return node.Reshaped(
      result, {from[0], from[1], windows[0].output(), windows[1].output(), windows[2].output()});
}

// The places of windows in a plane with given strides: the start of each window, and the offset of
// each of its elements from there.
struct Places {
  std::vector<int64_t> windows = {0}, elements = {0};
};

// With `padded`, the plane includes its padding, and the first window starts at 0.
Places PlacesOf(const std::vector<OnnxWindow>& windows, const std::vector<int64_t>& strides,
                bool padded) {
  Places places;
  for (size_t i = 0; i < windows.size(); ++i) {
    const OnnxWindow& window = windows[i];
    const auto extend = [&](std::vector<int64_t>& all, int64_t count, int64_t first, int64_t step) {
      std::vector<int64_t> result;
      for (const int64_t outer : all) {
        for (int64_t k = 0; k < count; ++k) {
          result.push_back(outer + (first + k * step) * strides[i]);
        }
      }
      all = std::move(result);
    };
    extend(places.windows, window.output(), padded ? 0 : -window.pad_begin, window.stride);
    extend(places.elements, window.window, 0, window.dilation);
  }
  return places;
}

// Returns for each window the index, in the whole tensor, of the first of its largest elements. The
// windows are laid out as rows, and ArgReduce finds the position in each row.
OnnxVar PlacesOfMaxima(OnnxNode& node, OnnxVar x, const std::vector<OnnxWindow>& windows,
                       const Shape& output, bool column_major) {
  const int axes = static_cast<int>(windows.size());
  const Shape image = node.shape(x);
  PadParam pad = {PadMode::kConstant, {0, 0}, {0, 0}, -std::numeric_limits<double>::infinity()};
  int64_t count = 1, elements = 1, plane = 1, padded_plane = 1;
  for (const OnnxWindow& window : windows) {
    pad.begin.push_back(window.pad_begin);
    pad.end.push_back(window.pad_end + window.ceil_end);
    count *= window.output();
    elements *= std::min<int64_t>(window.window, Shape::kMaxBytes / std::max<int64_t>(elements, 1));
    plane *= window.input;
    padded_plane *= window.input + pad.begin.back() + pad.end.back();
  }
  std::optional<HostTensor> sources = node.NewTensor(DType::kInt64, {count, elements});
  if (!sources) return kNoOnnxVar;
  std::vector<int64_t> strides(windows.size()), padded_strides(windows.size());
  int64_t stride = 1, padded_stride = 1;
  for (int i = axes - 1; i >= 0; --i) {
    const int along = column_major ? axes - 1 - i : i;
    strides[along] = stride;
    stride *= windows[along].input;
    padded_strides[i] = padded_stride;
    padded_stride *= windows[i].input + pad.begin[i + 2] + pad.end[i + 2];
  }
  const Places padded = PlacesOf(windows, padded_strides, true);
  int64_t* source = sources->mutable_data<int64_t>().data();
  for (const int64_t window : padded.windows) {
    for (const int64_t element : padded.elements) *source++ = window + element;
  }
  // The padding must be smaller than any element.
  const double lowest = std::numeric_limits<float>::lowest();
  const OnnxVar around = node.Add<Pad>(std::move(pad), {node.Greatest(x, lowest)});
  const int64_t planes = image[0] * image[1];
  const OnnxVar rows = node.Add<Gather>(
      {1}, {node.Reshaped(around, {planes, padded_plane}), node.Constant(*std::move(sources))});
  const OnnxVar best = node.Add<ArgReduce>({ArgReduceMode::kMax, 2}, {rows});
  const Places places = PlacesOf(windows, strides, false);
  const OnnxVar step = node.Add<Gather>({0}, {node.IntVector(places.elements), best});
  const OnnxVar window = node.Reshaped(node.IntVector(places.windows), {1, count, 1});
  std::vector<int64_t> of_planes(static_cast<size_t>(planes));
  for (int64_t i = 0; i < planes; ++i) of_planes[static_cast<size_t>(i)] = i * plane;
  const OnnxVar first = node.Reshaped(node.IntVector(of_planes), {planes, 1, 1});
  return node.Reshaped(node.Sum(node.Sum(step, window), first), output);
}

OnnxVars MaxPool(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const bool column_major = node.Int("storage_order", 0) != 0;  // for the second output
  const std::vector<OnnxWindow> windows = OnnxWindows(node, node.shape(x), {}, true);
  if (!node.ok()) return kNoOnnxVar;
  const DType dtype = node.dtype(x);
  if (!IsFloat(dtype) && (!IsInteger(dtype) || SizeOf(dtype) > 1)) {
    return node.Invalid(
        absl::StrCat("the input is ", Name(dtype), ", expected floats, Int8 or Uint8"));
  }
  // Float32 holds every 8-bit integer.
  const OnnxVar floats = IsFloat(dtype) ? x : node.Converted(x, DType::kFloat32);
  const OnnxVar maxima = PoolAll(node, floats, PoolingMode::kMax, windows);
  OnnxVars outputs = node.Converted(maxima, node.dtype(x));
  if (node.has_output(1) && node.ok()) {
    const Shape shape = node.shape(maxima);
    outputs.push_back(PlacesOfMaxima(node, floats, windows, shape, column_major));
  }
  return outputs;
}

// Returns how many elements of a window are in the image or its padding.
int64_t Counted(const OnnxWindow& window, int64_t output) {
  const int64_t end = window.input + window.pad_begin + window.pad_end;
  const int64_t begin = output * window.stride;
  return std::min(window.window, (end - begin - 1) / window.dilation + 1);
}

OnnxVars AveragePool(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const bool count_padding = node.Int("count_include_pad", 0) != 0;
  const std::vector<OnnxWindow> windows = OnnxWindows(node, node.shape(x), {}, true);
  if (!node.ok()) return kNoOnnxVar;
  if (!count_padding) {
    return PoolAll(node, x, PoolingMode::kAverageCountExcludePadding, windows);
  }
  OnnxVar y = PoolAll(node, x, PoolingMode::kAverage, windows);
  // With ceil_mode, windows may reach beyond the padding; elements there do not count in the
  // divisor.
  for (size_t i = 0; i < windows.size(); ++i) {
    const OnnxWindow& window = windows[i];
    if (window.ceil_end == 0) continue;
    Shape along = Shape(std::vector<int64_t>(windows.size() + 2, 1));
    along[static_cast<int>(i) + 2] = window.output();
    HostTensor factors = HostTensor::Zeros(node.dtype(y), along);
    for (int64_t o = 0; o < window.output(); ++o) {
      factors.Set(o, static_cast<double>(window.window) / static_cast<double>(Counted(window, o)));
    }
    y = node.Product(y, node.Constant(std::move(factors)));
  }
  return y;
}

// Computes a p-norm: powers of elements, which `pooled` sums, and the root of their sum.
template <typename Pooled>
OnnxVar NormOf(OnnxNode& node, OnnxVar x, const Pooled& pooled) {
  const double p = node.version() < 2 ? node.Float("p", 2) : static_cast<double>(node.Int("p", 2));
  if (!node.ok()) return kNoOnnxVar;
  if (!(p >= 1)) return node.Invalid(absl::StrCat("p is ", p));
  const auto power = [&](OnnxVar var, double exponent) {
    return node.Function(ScalarFunction::kPow, {var, node.Scalar(exponent, node.dtype(var))});
  };
  const OnnxVar size = node.Function(ScalarFunction::kAbs, {x});
  const OnnxVar sum = pooled(p == 1 ? size : p == 2 ? node.Product(x, x) : power(size, p));
  if (p == 1) return sum;
  return p == 2 ? node.Function(ScalarFunction::kSqrt, {sum}) : power(sum, 1 / p);
}

// Computes the p-norm of each window, with zeros as padding.
OnnxVars LpPool(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const std::vector<OnnxWindow> windows = OnnxWindows(node, node.shape(x), {}, true);
  if (!node.ok()) return kNoOnnxVar;
  double elements = 1;
  for (const OnnxWindow& window : windows) elements *= static_cast<double>(window.window);
  return NormOf(node, x, [&](OnnxVar powers) {
    return node.Product(PoolAll(node, powers, PoolingMode::kAverage, windows), elements);
  });
}

// Pools all spatial dimensions, which stay with size 1.
OnnxVar Global(OnnxNode& node, OnnxVar x, PoolingMode mode) {
  node.Ignore({"consumed_inputs"});
  const Shape from = node.shape(x);
  if (from.rank() < 3) return node.Invalid("expected [N, C, ...]");
  const int64_t inner =
      std::accumulate(from.dims().begin() + 3, from.dims().end(), int64_t{1}, std::multiplies<>());
  OnnxWindow h = {from[2], from[2]}, w = {inner, inner};
  Shape to = {from[0], from[1]};
  while (to.rank() < from.rank()) to.push_back(1);
  const OnnxVar image = node.Reshaped(x, {from[0], from[1], from[2], inner});
  return node.Reshaped(Pool(node, image, mode, h, w), to);
}

OnnxVars GlobalAveragePool(OnnxNode& node) {
  return Global(node, node.input(0), PoolingMode::kAverage);
}
OnnxVars GlobalMaxPool(OnnxNode& node) { return Global(node, node.input(0), PoolingMode::kMax); }

OnnxVars GlobalLpPool(OnnxNode& node) {
  return NormOf(node, node.input(0), [&](OnnxVar powers) {
    const Shape shape = node.shape(powers);
    if (shape.rank() < 3) return node.Invalid("expected [N, C, ...]");
    const int64_t elements = std::accumulate(shape.dims().begin() + 2, shape.dims().end(),
                                             int64_t{1}, std::multiplies<>());
    return node.Product(Global(node, powers, PoolingMode::kAverage), static_cast<double>(elements));
  });
}

constexpr OnnxRow kPoolingRows[] = {
    OnnxRow("AveragePool", 1, 1, AveragePool).Counted(CountedBatch).Limits("1 to 3 dimensions"),
    OnnxRow("GlobalAveragePool", 1, 1, GlobalAveragePool).Counted(CountedBatch),
    OnnxRow("GlobalLpPool", 1, 1, GlobalLpPool).Counted(CountedBatch),
    OnnxRow("GlobalMaxPool", 1, 1, GlobalMaxPool).Counted(CountedBatch),
    OnnxRow("LpPool", 1, 1, LpPool).Limits("1 to 3 dimensions"),
    OnnxRow("MaxPool", 1, 1, MaxPool).Counted(CountedBatch).Limits("1 to 3 dimensions"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxPoolingRows() { return kPoolingRows; }

}  // namespace ashlar
