#include "serialization/onnx/import/windows.h"

#include <algorithm>
#include <limits>

namespace ashlar {
namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // no sum or product overflows

// Returns the values of an attribute, or `fallback` if it is absent. Reports an error unless it has
// `count` values of at least `least`.
std::vector<int64_t> Values(OnnxNode& node, absl::string_view name, size_t count, int64_t least,
                            int64_t fallback) {
  std::vector<int64_t> values = node.Ints(name);
  if (values.empty()) return std::vector<int64_t>(count, fallback);
  bool good = values.size() == count;
  for (const int64_t value : values) good = good && value >= least && value <= kMost;
  if (!good) {
    node.Invalid(
        absl::StrCat("attribute '", name, "': expected ", count, " values of at least ", least));
    values.assign(count, fallback);
  }
  return values;
}

}  // namespace

std::vector<OnnxWindow> OnnxWindows(OnnxNode& node, const Shape& image, std::vector<int64_t> kernel,
                                    bool with_ceil_mode) {
  if (image.rank() < 3) {
    node.Invalid(absl::StrCat("input is ", image.ToString(), ", expected [N, C, ...]"));
    return {};
  }
  const size_t axes = static_cast<size_t>(image.rank()) - 2;
  if (kernel.empty() || node.has_attribute("kernel_shape")) {
    const std::vector<int64_t> given = Values(node, "kernel_shape", axes, 1, 0);
    if (node.ok() && given[0] == 0) node.Invalid("attribute 'kernel_shape' is missing");
    if (node.ok() && !kernel.empty() && given != kernel) {
      node.Invalid("attribute 'kernel_shape' differs from the shape of the weights");
    }
    kernel = given;
  }
  const std::vector<int64_t> strides = Values(node, "strides", axes, 1, 1);
  const std::vector<int64_t> dilations = Values(node, "dilations", axes, 1, 1);
  const std::vector<int64_t> pads = Values(node, "pads", 2 * axes, -kMost, 0);
  const std::string auto_pad = node.Text("auto_pad", "NOTSET");
  const bool ceil_mode = with_ceil_mode && node.Int("ceil_mode", 0) != 0;
  const bool upper = auto_pad == "SAME_UPPER", lower = auto_pad == "SAME_LOWER";
  if (!upper && !lower && auto_pad != "VALID" && auto_pad != "NOTSET" && !auto_pad.empty()) {
    node.Invalid(absl::StrCat("auto_pad is '", auto_pad.substr(0, 64), "'"));
  }
  if (!node.ok()) return {};
  std::vector<OnnxWindow> windows;
  for (size_t i = 0; i < axes; ++i) {
    OnnxWindow window = {image[static_cast<int>(i) + 2], kernel[i], strides[i], dilations[i]};
    if (window.window > kMost || window.extent() > kMost || window.input > kMost) {
      node.Invalid("a window or image beyond 2^31");
      return {};
    }
    if (upper || lower) {
      const int64_t outputs = (window.input + window.stride - 1) / window.stride;
      const int64_t total =
          std::max<int64_t>((outputs - 1) * window.stride + window.extent() - window.input, 0);
      window.pad_begin = upper ? total / 2 : total - total / 2;
      window.pad_end = total - window.pad_begin;
    } else if (auto_pad != "VALID") {
      window.pad_begin = pads[i];
      window.pad_end = pads[i + axes];
    }
    const int64_t padded = window.input + window.pad_begin + window.pad_end;
    if (padded < window.extent() && !(ceil_mode && padded >= 1)) {
      node.Invalid(absl::StrCat("the window of ", window.extent(),
                                " is larger than the padded input of ", padded));
      return {};
    }
    if (ceil_mode) {
      int64_t outputs = (padded - window.extent() + window.stride - 1) / window.stride + 1;
      if (padded < window.extent()) outputs = 1;
      // Drops a last window that would begin in the padding at the end.
      if (outputs > 1 && (outputs - 1) * window.stride >= window.input + window.pad_begin) {
        --outputs;
      }
      window.ceil_end =
          std::max<int64_t>((outputs - 1) * window.stride + window.extent() - padded, 0);
    }
    windows.push_back(window);
  }
  return windows;
}

std::vector<OnnxWindow> OnnxTransposedWindows(OnnxNode& node, const Shape& image,
                                              std::vector<int64_t> kernel) {
  const size_t axes = static_cast<size_t>(image.rank()) - 2;
  const std::vector<int64_t> given = Values(node, "kernel_shape", axes, 1, 0);
  if (node.ok() && given[0] != 0 && given != kernel) {
    node.Invalid("attribute 'kernel_shape' differs from the shape of the weights");
  }
  const std::vector<int64_t> strides = Values(node, "strides", axes, 1, 1);
  const std::vector<int64_t> dilations = Values(node, "dilations", axes, 1, 1);
  const std::vector<int64_t> pads = Values(node, "pads", 2 * axes, -kMost, 0);
  if (!node.ok()) return {};
  std::vector<OnnxWindow> windows;
  for (size_t i = 0; i < axes; ++i) {
    windows.push_back({image[static_cast<int>(i) + 2], kernel[i], strides[i], dilations[i], pads[i],
                       pads[i + axes]});
  }
  return windows;
}

}  // namespace ashlar
