// Exports operators on images: convolution, pooling, normalisation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/status.h"
#include "opr/batch_norm.h"
#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/convolution_backward_data.h"
#include "opr/lrn.h"
#include "opr/pooling.h"
#include "opr/pooling_rows.h"
#include "opr/quantized_conv.h"
#include "serialization/onnx/export/operators.h"

namespace ashlar {
namespace {

// Returns the padding at the end. Some programs refuse padding as wide as the window: then it is
// only what windows reach, which depends on the size.
int64_t UsedPadEnd(const WindowAxis& axis) {
  if (axis.pad_end < axis.window) return axis.pad_end;
  const int64_t reach = axis.Origin(axis.output - 1) + axis.extent() - axis.input;
  return std::clamp<int64_t>(reach, 0, axis.pad_end);
}

std::vector<OnnxAttribute> WindowAttributes(const WindowAxis& h, const WindowAxis& w) {
  using Pair = std::vector<int64_t>;
  std::vector<OnnxAttribute> attributes = {
      {"kernel_shape", Pair{h.window, w.window}},
      {"strides", Pair{h.stride, w.stride}},
      {"pads", Pair{h.pad_begin, w.pad_begin, UsedPadEnd(h), UsedPadEnd(w)}}};
  // Average pooling has no dilations in operator set 13.
  if (h.dilation != 1 || w.dilation != 1) {
    attributes.push_back({"dilations", Pair{h.dilation, w.dilation}});
  }
  return attributes;
}

// Whether padding is as wide as the window, which ONNX Runtime refuses for pooling.
bool IsWide(const WindowAxis& axis) {
  return axis.pad_begin >= axis.window || UsedPadEnd(axis) >= axis.window;
}

// Returns by output the ratio of the mean without padding to the mean with it.
absl::StatusOr<HostTensor> SharesOfWindows(const WindowAxis& h, const WindowAxis& w) {
  const auto shares = [](const WindowAxis& axis) {
    std::vector<double> of_outputs;
    for (int64_t o = 0; o < axis.output; ++o) {
      int64_t inside = 0;
      for (int64_t k = 0; k < axis.window; ++k) {
        const int64_t at = axis.Origin(o) + k * axis.dilation;
        inside += at >= 0 && at < axis.input;
      }
      of_outputs.push_back(static_cast<double>(axis.window) / static_cast<double>(inside));
    }
    return of_outputs;
  };
  const std::vector<double> rows = shares(h), columns = shares(w);
  HostTensor factors = HostTensor::Zeros(DType::kFloat32, {1, 1, h.output, w.output});
  for (int64_t i = 0; i < factors.num_elements(); ++i) {
    const double share =
        rows[static_cast<size_t>(i / w.output)] * columns[static_cast<size_t>(i % w.output)];
    if (!std::isfinite(share)) return absl::UnimplementedError("a mean of padding alone");
    factors.Set(i, share);
  }
  return factors;
}

// Returns the filter of a true convolution, rotated for correlation.
HostTensor Flipped(const HostTensor& filter) {
  HostTensor flipped = HostTensor::ZerosLike(filter, filter.shape());
  const int rank = filter.shape().rank();
  const int64_t window = filter.shape()[rank - 2] * filter.shape()[rank - 1];
  for (int64_t i = 0; i < filter.num_elements(); ++i) {
    flipped.Set(i, filter.At(i / window * window + window - 1 - i % window));
  }
  return flipped;
}

// Returns input 1 in that shape, for correlation.
absl::StatusOr<std::string> Filter(OnnxEmitter& emitter, const ConvolutionParam& param,
                                   const Shape& shape) {
  if (param.mode != ConvolutionMode::kConvolution) return emitter.input(1, shape);
  if (emitter.constant(1) == nullptr) {
    return absl::UnimplementedError("mode CONVOLUTION with a filter that is no constant");
  }
  return emitter.Tensor(Flipped(*emitter.constant(1)).Reshaped(shape));
}

// Returns src * filter + bias; an empty `bias` means none.
absl::StatusOr<std::string> Conv(OnnxEmitter& emitter, const ConvolutionParam& param,
                                 const std::string& bias) {
  ASHLAR_ASSIGN_OR_RETURN(const ConvolutionGeometry geometry,
                          InferConvolution(param, emitter.input_type(0), emitter.input_type(1)));
  const Shape filter_shape = {geometry.groups * geometry.out_channels, geometry.in_channels,
                              geometry.h.window, geometry.w.window};
  ASHLAR_ASSIGN_OR_RETURN(const std::string filter, Filter(emitter, param, filter_shape));
  std::vector<OnnxAttribute> attributes = WindowAttributes(geometry.h, geometry.w);
  attributes.push_back({"group", geometry.groups});
  std::vector<std::string> inputs = {emitter.InputOfFilter(), filter};
  if (!bias.empty()) inputs.push_back(bias);
  return emitter.Add("Conv", inputs, attributes);
}

}  // namespace

absl::StatusOr<OnnxValues> OnnxConvolution(OnnxEmitter& emitter) {
  return Conv(emitter, emitter.op<ConvolutionForward>().param(), "");
}

absl::StatusOr<OnnxValues> OnnxConvBias(OnnxEmitter& emitter) {
  const ConvBiasParam& param = emitter.op<ConvBiasForward>().param();
  if (param.clamps_src()) return absl::UnimplementedError("bounds of src");
  if (JoinsSums(emitter.infos()) || emitter.stored_output_type().dtype == DType::kQuantizedS32) {
    return absl::UnimplementedError("sums that are not rounded");
  }
  const std::string bias = emitter.input(ConvBiasForward::kBias, {emitter.output_type().shape[1]});
  ASHLAR_ASSIGN_OR_RETURN(std::string value, Conv(emitter, param, bias));
  if (emitter.num_inputs() > ConvBiasForward::kZ) {
    if (!param.addend.absent()) {
      ASHLAR_ASSIGN_OR_RETURN(const TensorType addend,
                              QuantizedType(param.addend, emitter.output_type().shape));
      value = emitter.Rounded(value, addend);
    }
    value = emitter.Add("Add", {value, emitter.input(ConvBiasForward::kZ)});
  }
  if (param.nonlineMode == ScalarFunction::kIdentity) return value;
  return OnnxScalarFunction(emitter, ActivationParam(param), {value});
}

absl::StatusOr<OnnxValues> OnnxConvolutionBackwardData(OnnxEmitter& emitter) {
  const ConvolutionParam& param = emitter.op<ConvolutionBackwardData>().param();
  ASHLAR_ASSIGN_OR_RETURN(const BackwardDataGeometry geometry,
                          InferBackwardData(param, emitter.input_type(0), emitter.input_type(1)));
  const WindowAxis &h = geometry.h, &w = geometry.w;
  // Padding after the image must add less than a stride, and padding before must not be negative.
  // Otherwise, rows and columns that no window reaches are added as zeros.
  const auto around = [](const WindowAxis& axis) {
    return axis.pad_begin < 0 || axis.pad_end <= -axis.stride;
  };
  const auto behind = [&](const WindowAxis& axis) {
    return around(axis) ? 0 : std::max<int64_t>(-axis.pad_end, 0);
  };
  const auto zeros = [&](const WindowAxis& axis, int64_t pad) {
    return around(axis) ? std::max<int64_t>(-pad, 0) : 0;
  };
  const Shape filter_shape = {geometry.groups * geometry.in_channels, geometry.out_channels,
                              h.window, w.window};
  ASHLAR_ASSIGN_OR_RETURN(const std::string filter, Filter(emitter, param, filter_shape));
  using Pair = std::vector<int64_t>;
  std::string image = emitter.Add(
      "ConvTranspose", {emitter.InputOfFilter(), filter},
      {{"kernel_shape", Pair{h.window, w.window}},
       {"strides", Pair{h.stride, w.stride}},
       {"dilations", Pair{h.dilation, w.dilation}},
       {"pads", Pair{std::max<int64_t>(h.pad_begin, 0), std::max<int64_t>(w.pad_begin, 0),
                     std::max<int64_t>(h.pad_end, 0), std::max<int64_t>(w.pad_end, 0)}},
       {"output_padding", Pair{behind(h), behind(w)}},
       {"group", geometry.groups}});
  if (around(h) || around(w)) {
    const std::string pads = emitter.Ints({0, 0, zeros(h, h.pad_begin), zeros(w, w.pad_begin), 0, 0,
                                           zeros(h, h.pad_end), zeros(w, w.pad_end)});
    image = emitter.Add("Pad", {image, pads});
  }
  if (emitter.num_inputs() <= ConvolutionBackwardData::kZ) return image;
  return emitter.Add("Add", {image, emitter.input(ConvolutionBackwardData::kZ)});
}

absl::StatusOr<OnnxValues> OnnxPooling(OnnxEmitter& emitter) {
  const PoolingParam& param = emitter.op<PoolingForward>().param();
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry,
                          InferPooling(param, emitter.input_type(0)));
  WindowAxis h = geometry.h, w = geometry.w;
  const bool excludes = param.mode == PoolingMode::kAverageCountExcludePadding;
  std::string image = emitter.input(0), factors;
  if (IsWide(h) || IsWide(w)) {
    if (IsQuantized(emitter.stored_input_type(0).dtype)) {
      return absl::UnimplementedError("padding as wide as a window, of a quantised image");
    }
    if (excludes) {
      ASHLAR_ASSIGN_OR_RETURN(HostTensor counts, SharesOfWindows(h, w));
      factors = emitter.Tensor(counts);
    }
    const bool max = param.mode == PoolingMode::kMax;
    const std::string pads =
        emitter.Ints({0, 0, h.pad_begin, w.pad_begin, 0, 0, UsedPadEnd(h), UsedPadEnd(w)});
    image = emitter.Add(
        "Pad", {image, pads, emitter.Scalar(max ? -std::numeric_limits<double>::infinity() : 0)});
    for (WindowAxis* axis : {&h, &w}) axis->pad_begin = axis->pad_end = 0;
  }
  std::vector<OnnxAttribute> attributes = WindowAttributes(h, w);
  if (param.mode == PoolingMode::kMax) return emitter.Add("MaxPool", {image}, attributes);
  // The mean of a quantised image is a sum of integers, rounded once.
  if (IsQuantized(emitter.stored_input_type(0).dtype) && param.mode == PoolingMode::kAverage) {
    const Shape& image = emitter.input_type(0).shape;
    if (geometry.output()[2] == 1 && geometry.output()[3] == 1 && param.window_h == image[2] &&
        param.window_w == image[3]) {
      return emitter.Add("GlobalAveragePool", {emitter.input(0)});
    }
    return absl::UnimplementedError("AVERAGE of windows of a quantised image");
  }
  if (!emitter.rich() && (geometry.h.dilation != 1 || geometry.w.dilation != 1)) {
    return absl::UnimplementedError("a mean of windows with dilation");
  }
  attributes.push_back({"count_include_pad", int64_t{!excludes}});
  image = emitter.Add("AveragePool", {image}, attributes);
  return factors.empty() ? image : emitter.Add("Mul", {image, factors});
}

absl::StatusOr<OnnxValues> OnnxPoolingRows(OnnxEmitter& emitter) {
  const PoolingRowsParam& param = emitter.op<PoolingRows>().param();
  const bool sums = param.mode != PoolingMode::kMax && param.rows == 0 &&
                    emitter.num_inputs() == 1 &&
                    emitter.stored_input_type(0).dtype == DType::kFloat32;
  if (!sums) return absl::UnimplementedError("strips of rows");
  return emitter.Add("ReduceSum", {emitter.input(0), emitter.Ints({2, 3})},
                     {{"keepdims", int64_t{1}}});
}

absl::StatusOr<OnnxValues> OnnxBatchNorm(OnnxEmitter& emitter) {
  const Shape channels = {emitter.output_type().shape[1]};
  std::vector<std::string> inputs = {emitter.input(BatchNorm::kX)};
  for (const int i :
       {BatchNorm::kScale, BatchNorm::kBias, BatchNorm::kMean, BatchNorm::kVariance}) {
    inputs.push_back(emitter.input(i, channels));
  }
  const double epsilon = emitter.op<BatchNorm>().param().epsilon;
  return emitter.Add("BatchNormalization", inputs, {{"epsilon", static_cast<float>(epsilon)}});
}

absl::StatusOr<OnnxValues> OnnxLrn(OnnxEmitter& emitter) {
  const LRNParam& param = emitter.op<LRN>().param();
  return emitter.Add("LRN", {emitter.input(0)},
                     {{"size", param.size},
                      {"alpha", static_cast<float>(param.alpha)},
                      {"beta", static_cast<float>(param.beta)},
                      {"bias", static_cast<float>(param.bias)}});
}

absl::StatusOr<OnnxValues> OnnxRelayout(OnnxEmitter& emitter) { return emitter.input(0); }

}  // namespace ashlar
