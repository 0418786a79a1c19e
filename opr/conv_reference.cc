#include "opr/conv_reference.h"

#include <algorithm>

#include "opr/base/doubles.h"

namespace ashlar {
namespace {

// Computes sums[i] += weight * src[i * stride]; rows are short, so stride 1 has its own loop.
void AddScaledRow(double* sums, const double* src, int64_t count, int64_t stride, double weight) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) sums[i] += weight * src[i];
  } else {
    for (int64_t i = 0; i < count; ++i) sums[i] += weight * src[i * stride];
  }
}

// Adds one input plane, convolved with one fh x fw filter plane.
void AddPlane(const WindowAxis& h, const WindowAxis& w, bool flip, const double* src,
              const double* filter, double* sums) {
  for (int64_t kh = 0; kh < h.window; ++kh) {
    const int64_t row_offset = kh * h.dilation;
    const Range rows = h.OutputsInside(kh);
    for (int64_t kw = 0; kw < w.window; ++kw) {
      const int64_t tap = kh * w.window + kw;
      const double weight = filter[flip ? h.window * w.window - 1 - tap : tap];
      const int64_t column_offset = kw * w.dilation;
      const Range columns = w.OutputsInside(kw);
      for (int64_t oh = rows.begin; oh < rows.end; ++oh) {
        const double* row = src + (h.Origin(oh) + row_offset) * w.input;
        AddScaledRow(sums + oh * w.output + columns.begin,
                     row + w.Origin(columns.begin) + column_offset, columns.end - columns.begin,
                     w.stride, weight);
      }
    }
  }
}

}  // namespace

void ConvolvePlanes(
    const ConvolutionParam& param, const ConvolutionGeometry& geometry, const HostTensor& src,
    const HostTensor& filter,
    absl::FunctionRef<void(int64_t channel, absl::Span<const double> plane)> consume) {
  const WindowAxis& h = geometry.h;
  const WindowAxis& w = geometry.w;
  const bool flip = param.mode == ConvolutionMode::kConvolution;
  const int64_t src_plane = h.input * w.input;
  const int64_t filter_plane = h.window * w.window;
  const int64_t all_out_channels = geometry.groups * geometry.out_channels;
  const std::vector<double> images = ToDoubles(src), weights = ToDoubles(filter);
  std::vector<double> sums(h.output * w.output);
  for (int64_t n = 0; n < geometry.batch; ++n) {
    for (int64_t oc = 0; oc < all_out_channels; ++oc) {
      const int64_t group = oc / geometry.out_channels;
      std::fill(sums.begin(), sums.end(), 0.0);
      for (int64_t ic = 0; ic < geometry.in_channels; ++ic) {
        const int64_t channel = (n * geometry.groups + group) * geometry.in_channels + ic;
        AddPlane(h, w, flip, images.data() + channel * src_plane,
                 weights.data() + (oc * geometry.in_channels + ic) * filter_plane, sums.data());
      }
      consume(oc, sums);
    }
  }
}

}  // namespace ashlar
