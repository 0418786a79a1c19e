#include "opr/convolution_backward_data.h"

#include <algorithm>
#include <limits>

#include "graph/graph_builder.h"
#include "opr/base/aliasing.h"
#include "opr/base/checks.h"
#include "opr/base/doubles.h"
#include "opr/base/operands.h"
#include "opr/base/saturating_product.h"
#include "opr/concat.h"
#include "opr/conv_filter.h"
#include "opr/convolution_backward_filter.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(ConvolutionBackwardData)

namespace {

// Completes an axis without `input`, which is computed; `size` is the image's.
absl::StatusOr<WindowAxis> AxisOf(WindowAxis axis, int64_t size, absl::string_view suffix) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t parameters[] = {axis.window, axis.stride, axis.dilation, size};
  if (*std::min_element(std::begin(parameters), std::end(parameters)) < 1 ||
      *std::max_element(std::begin(parameters), std::end(parameters)) > kMost) {
    return absl::InvalidArgumentError(absl::StrCat(
        "window_", suffix, " is ", axis.window, ", stride_", suffix, " ", axis.stride, ", dilate_",
        suffix, " ", axis.dilation, " and the image ", size, ", expected 1 to ", kMost));
  }
  const int64_t pad_end = axis.pad_end == kSamePadding ? axis.pad_begin : axis.pad_end;
  for (const int64_t pad : {axis.pad_begin, pad_end}) {
    if (pad >= -kMost && pad <= kMost) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("pad_", suffix, " is ", pad, ", expected ", -kMost, " to ", kMost));
  }
  axis.input = axis.stride * (size - 1) + axis.extent() - axis.pad_begin - pad_end;
  if (axis.input < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("pad_", suffix, " is ", axis.pad_begin, " and ", pad_end, " of ",
                     axis.input + axis.pad_begin + pad_end, ": nothing is left"));
  }
  axis.pad_end = pad_end;
  axis.output = size;
  return axis;
}

// Adds one plane of the image, spread by one plane of the filter.
void SpreadPlane(const WindowAxis& h, const WindowAxis& w, bool flip, const double* src,
                 const double* filter, double* sums) {
  for (int64_t y = 0; y < h.output; ++y) {
    for (int64_t x = 0; x < w.output; ++x) {
      for (int64_t kh = 0; kh < h.window; ++kh) {
        const int64_t oh = h.Origin(y) + kh * h.dilation;
        if (oh < 0 || oh >= h.input) continue;
        for (int64_t kw = 0; kw < w.window; ++kw) {
          const int64_t ow = w.Origin(x) + kw * w.dilation;
          if (ow < 0 || ow >= w.input) continue;
          const int64_t tap = kh * w.window + kw;
          sums[oh * w.input + ow] +=
              src[y * w.output + x] * filter[flip ? h.window * w.window - 1 - tap : tap];
        }
      }
    }
  }
}

absl::StatusOr<BackwardDataGeometry> GeometryOf(const ConvolutionBackwardData& op,
                                                const Site& site) {
  return InferBackwardData(op.param(), site.inputs[op.kSrc].type, site.inputs[op.kFilter].type);
}

// Returns the number of pairs of an element of the image and a weight that reach the output; for
// windows of very many taps a number above it, so that files cannot make it take long.
int64_t PairsOf(const WindowAxis& axis) {
  constexpr int64_t kManyTaps = 1 << 16;
  if (axis.window > kManyTaps) return axis.window * axis.output;
  int64_t pairs = 0;
  for (int64_t tap = 0; tap < axis.window; ++tap) pairs += axis.OutputsInside(tap).size();
  return pairs;
}

// Returns the range of the image that outputs depend on, at least one element.
Range NeededBy(const WindowAxis& axis, const Range& outputs) {
  const Range clipped = Intersection(axis.Touching(outputs), {0, axis.output});
  if (!clipped.empty()) return clipped;
  const int64_t nearest = std::clamp<int64_t>(clipped.begin, 0, axis.output - 1);
  return {nearest, nearest + 1};
}

}  // namespace

absl::StatusOr<BackwardDataGeometry> InferBackwardData(const ConvolutionParam& param,
                                                       const TensorType& src,
                                                       const TensorType& filter) {
  ASHLAR_ASSIGN_OR_RETURN(const FilterShape f,
                          FilterShapeOf(param.sparse, FilterOrder::kInOut, src, filter));
  BackwardDataGeometry geometry = {
      ConvolutionGeometry{{}, src.shape[0], f.groups, f.in_channels, f.out_channels}};
  ASHLAR_ASSIGN_OR_RETURN(
      geometry.h, AxisOf({0, f.h, param.stride_h, param.dilate_h, param.pad_h, param.pad_h_end},
                         src.shape[2], "h"));
  ASHLAR_ASSIGN_OR_RETURN(
      geometry.w, AxisOf({0, f.w, param.stride_w, param.dilate_w, param.pad_w, param.pad_w_end},
                         src.shape[3], "w"));
  ASHLAR_RETURN_IF_ERROR(Shape::Make(geometry.output().dims()).status());
  ASHLAR_RETURN_IF_ERROR(CheckMadeOfElements("input", src, geometry.output()));
  return geometry;
}

absl::StatusOr<std::vector<TensorType>> ConvolutionBackwardData::Infer(
    absl::Span<const InputInfo> inputs) const {
  if (inputs.size() != 3) ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  ASHLAR_ASSIGN_OR_RETURN(const BackwardDataGeometry geometry,
                          InferBackwardData(param(), inputs[kSrc].type, inputs[kFilter].type));
  const DType dtype = inputs[kSrc].type.dtype;
  if (inputs.size() > kZ) {
    ASHLAR_RETURN_IF_ERROR(CheckDType("z", inputs[kZ].type, dtype));
    if (inputs[kZ].type.shape != geometry.output()) {
      return absl::InvalidArgumentError(absl::StrCat("z is ", inputs[kZ].type.ToString(),
                                                     ", expected ", geometry.output().ToString()));
    }
  }
  return std::vector<TensorType>{{dtype, geometry.output()}};
}

Aliasing ConvolutionBackwardData::aliasing(const Site& site) const {
  return OverwritesInput(kZ, site);
}

absl::StatusOr<std::vector<HostTensor>> ConvolutionBackwardData::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const BackwardDataGeometry g,
                          InferBackwardData(param(), {inputs[kSrc].dtype(), inputs[kSrc].shape()},
                                            {inputs[kFilter].dtype(), inputs[kFilter].shape()}));
  const bool flip = param().mode == ConvolutionMode::kConvolution;
  const std::vector<double> src = ToDoubles(inputs[kSrc]), filter = ToDoubles(inputs[kFilter]);
  const int64_t src_plane = g.h.output * g.w.output, filter_plane = g.h.window * g.w.window;
  const int64_t plane = g.h.input * g.w.input, all_out = g.groups * g.out_channels;
  std::vector<double> sums(static_cast<size_t>(g.batch * all_out * plane));
  if (inputs.size() > kZ) sums = ToDoubles(inputs[kZ]);
  for (int64_t i = 0; i < g.batch * all_out; ++i) {
    const int64_t n = i / all_out, oc = i % all_out, group = oc / g.out_channels;
    for (int64_t c = 0; c < g.in_channels; ++c) {
      const int64_t channel = group * g.in_channels + c;
      SpreadPlane(g.h, g.w, flip, &src[(n * g.groups * g.in_channels + channel) * src_plane],
                  &filter[(channel * g.out_channels + oc % g.out_channels) * filter_plane],
                  &sums[i * plane]);
    }
  }
  return std::vector<HostTensor>{FromDoubles(inputs[kSrc].dtype(), g.output(), sums)};
}

int64_t ConvolutionBackwardData::Computation(const Site& site) const {
  // Per element of the image: one multiply and one add for each weight of its channel.
  const absl::StatusOr<BackwardDataGeometry> geometry = GeometryOf(*this, site);
  if (!geometry.ok()) return 0;
  return SaturatingProduct({site.inputs[kSrc].type.shape.num_elements(), geometry->h.window,
                            geometry->w.window, geometry->out_channels, 2});
}

int64_t ConvolutionBackwardData::KeptComputation(const Site& site) const {
  const absl::StatusOr<BackwardDataGeometry> g = GeometryOf(*this, site);
  if (!g.ok()) return 0;
  return SaturatingProduct(
      {g->batch * g->groups * g->in_channels, PairsOf(g->h), PairsOf(g->w), g->out_channels, 2});
}

std::optional<std::vector<Region>> ConvolutionBackwardData::InputRegions(const Region& output,
                                                                         const Site& site) const {
  const absl::StatusOr<BackwardDataGeometry> geometry = GeometryOf(*this, site);
  if (!geometry.ok() || output[1] != Range{0, site.outputs[0].shape[1]}) return std::nullopt;
  std::vector<Region> regions = {WholeRegion(site.inputs[kSrc].type.shape),
                                 WholeRegion(site.inputs[kFilter].type.shape)};
  regions[kSrc][0] = output[0];
  regions[kSrc][2] = NeededBy(geometry->h, output[2]);
  regions[kSrc][3] = NeededBy(geometry->w, output[3]);
  if (site.inputs.size() > kZ) regions.push_back(output);
  return regions;
}

std::optional<Region> ConvolutionBackwardData::OutputRegion(int input, const Region& region,
                                                            const Site& site) const {
  if (input == kZ) return region;
  if (input != kSrc) return std::nullopt;
  const absl::StatusOr<BackwardDataGeometry> geometry = GeometryOf(*this, site);
  if (!geometry.ok()) return std::nullopt;
  Region output = WholeRegion(site.outputs[0].shape);
  output[0] = region[0];
  output[2] = geometry->h.Read(region[2]);
  output[3] = geometry->w.Read(region[3]);
  return output;
}

std::optional<Replacement> ConvolutionBackwardData::AtRegion(const Region& output,
                                                             absl::Span<const Region> given,
                                                             const Site& site) const {
  const absl::StatusOr<BackwardDataGeometry> geometry = GeometryOf(*this, site);
  if (!geometry.ok()) return std::nullopt;
  // Removes the outputs that the given part reaches in excess of the wanted ones.
  const Range h = geometry->h.Read(given[kSrc][2]), w = geometry->w.Read(given[kSrc][3]);
  ConvolutionParam part = param();
  part.pad_h = output[2].begin - h.begin;
  part.pad_h_end = h.end - output[2].end;
  part.pad_w = output[3].begin - w.begin;
  part.pad_w_end = w.end - output[3].end;
  return Replacement{std::make_shared<const ConvolutionBackwardData>(std::move(part)),
                     OwnOperands(site.inputs.size())};
}

}  // namespace ashlar
