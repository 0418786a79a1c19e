// Pooling of ONNX: in two dimensions, in one as images of height 1, in three as two poolings.
#include <algorithm>
#include <numeric>

#include "opr/pooling.h"
#include "serialization/onnx/import_table.h"
#include "serialization/onnx/import_windows.h"

namespace ashlar {
namespace {

OnnxVar Pool(OnnxNode& node, OnnxVar x, PoolingMode mode, const OnnxWindow& h,
             const OnnxWindow& w) {
  PoolingParam param;
  param.mode = mode;
  param.window_h = h.window;
  param.window_w = w.window;
  param.stride_h = h.stride;
  param.stride_w = w.stride;
  param.dilate_h = h.dilation;
  param.dilate_w = w.dilation;
  param.pad_h = h.pad_begin;
  param.pad_w = w.pad_begin;
  // The rows that no window reads may be left out as well: windows must touch the image.
  param.pad_h_end = h.pad_end + h.ceil_end;
  param.pad_w_end = w.pad_end + w.ceil_end;
  return node.Add<PoolingForward>(param, {x});
}

// Pools the last one, two or three dimensions. A window of three dimensions is one of two, and then
// one along the first: true of maxima, and of means whose divisors are products.
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

OnnxVars MaxPool(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  node.Ignore({"storage_order"});  // of the second output
  const std::vector<OnnxWindow> windows = OnnxWindows(node, node.shape(x), {}, true);
  if (!node.ok()) return kNoOnnxVar;
  // Float32 holds every integer of 8 bits.
  const OnnxVar floats = node.Converted(x, DType::kFloat32);
  return node.Converted(PoolAll(node, floats, PoolingMode::kMax, windows), node.dtype(x));
}

// How many elements of a window are in the image or its padding, but not behind that.
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
  // Windows that ceil_mode lets stick out are divided by all of their elements there.
  for (size_t i = 0; i < windows.size(); ++i) {
    const OnnxWindow& window = windows[i];
    if (window.ceil_end == 0) continue;
    Shape along = Shape(std::vector<int64_t>(windows.size() + 2, 1));
    along[static_cast<int>(i) + 2] = window.output();
    HostTensor factors = HostTensor::Zeros(DType::kFloat32, along);
    for (int64_t o = 0; o < window.output(); ++o) {
      factors.Set(o, static_cast<double>(window.window) / static_cast<double>(Counted(window, o)));
    }
    y = node.Product(y, node.Constant(std::move(factors)));
  }
  return y;
}

// The p-norm of each window, in which padding is zeros.
OnnxVars LpPool(OnnxNode& node) {
  OnnxVar x = node.input(0);
  const double p = node.version() < 2 ? node.Float("p", 2) : static_cast<double>(node.Int("p", 2));
  const std::vector<OnnxWindow> windows = OnnxWindows(node, node.shape(x), {}, true);
  if (!node.ok()) return kNoOnnxVar;
  if (!(p >= 1)) return node.Invalid(absl::StrCat("p is ", p));
  double elements = 1;
  for (const OnnxWindow& window : windows) elements *= static_cast<double>(window.window);
  const auto power = [&](OnnxVar var, double exponent) {
    return node.Function(ScalarFunction::kPow, {var, node.Scalar(exponent, DType::kFloat32)});
  };
  const OnnxVar size = node.Function(ScalarFunction::kAbs, {x});
  const OnnxVar powers = p == 1 ? size : p == 2 ? node.Product(x, x) : power(size, p);
  const OnnxVar sum = node.Product(PoolAll(node, powers, PoolingMode::kAverage, windows), elements);
  if (p == 1) return sum;
  return p == 2 ? node.Function(ScalarFunction::kSqrt, {sum}) : power(sum, 1 / p);
}

// Over all spatial dimensions, which stay with size 1.
OnnxVars Global(OnnxNode& node, PoolingMode mode) {
  node.Ignore({"consumed_inputs"});
  const OnnxVar x = node.input(0);
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

OnnxVars GlobalAveragePool(OnnxNode& node) { return Global(node, PoolingMode::kAverage); }
OnnxVars GlobalMaxPool(OnnxNode& node) { return Global(node, PoolingMode::kMax); }

constexpr OnnxRow kPoolingRows[] = {
    OnnxRow("AveragePool", 1, 1, AveragePool).Limits("1 to 3 dimensions"),
    OnnxRow("GlobalAveragePool", 1, 1, GlobalAveragePool),
    OnnxRow("GlobalMaxPool", 1, 1, GlobalMaxPool),
    OnnxRow("LpPool", 1, 1, LpPool).Limits("1 to 3 dimensions"),
    OnnxRow("MaxPool", 1, 1, MaxPool).Limits("1 to 3 dimensions, without indices"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxPoolingRows() { return kPoolingRows; }

}  // namespace ashlar
