#ifndef ASHLAR_TESTS_OPR_CONVOLUTION_REFERENCE_H_
#define ASHLAR_TESTS_OPR_CONVOLUTION_REFERENCE_H_

#include <random>
#include <vector>

#include "opr/convolution.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {

// Computes a convolution by its definition, one output element after another.
inline std::vector<double> ConvolutionReference(const ConvolutionParam& p, const HostTensor& src,
                                                const HostTensor& filter, const Shape& output) {
  const int first = p.sparse == SparseMode::kGroup ? 1 : 0;
  const int64_t groups = first == 1 ? filter.shape()[0] : 1;
  const int64_t oc_per_group = filter.shape()[first], ic_per_group = filter.shape()[first + 1];
  const int64_t fh = filter.shape()[first + 2], fw = filter.shape()[first + 3];
  const int64_t channels = src.shape()[1], height = src.shape()[2], width = src.shape()[3];
  std::vector<double> result;
  for (int64_t n = 0; n < output[0]; ++n) {
    for (int64_t oc = 0; oc < groups * oc_per_group; ++oc) {
      for (int64_t oy = 0; oy < output[2]; ++oy) {
        for (int64_t ox = 0; ox < output[3]; ++ox) {
          double sum = 0;
          for (int64_t ic = 0; ic < ic_per_group; ++ic) {
            for (int64_t ky = 0; ky < fh; ++ky) {
              for (int64_t kx = 0; kx < fw; ++kx) {
                const int64_t y = oy * p.stride_h - p.pad_h + ky * p.dilate_h;
                const int64_t x = ox * p.stride_w - p.pad_w + kx * p.dilate_w;
                if (y < 0 || y >= height || x < 0 || x >= width) continue;
                const bool flip = p.mode == ConvolutionMode::kConvolution;
                const int64_t fy = flip ? fh - 1 - ky : ky, fx = flip ? fw - 1 - kx : kx;
                const int64_t c = oc / oc_per_group * ic_per_group + ic;
                sum += src.At(((n * channels + c) * height + y) * width + x) *
                       filter.At(((oc * ic_per_group + ic) * fh + fy) * fw + fx);
              }
            }
          }
          result.push_back(sum);
        }
      }
    }
  }
  return result;
}

struct ConvolutionCase {
  ConvolutionParam param;
  HostTensor src, filter;
};

// Returns a case with odd sizes, strides, dilations, groups, and paddings that differ between the
// two ends.
inline ConvolutionCase RandomConvolution(std::mt19937_64& random) {
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  ConvolutionCase c;
  ConvolutionParam& p = c.param;
  p.stride_h = pick(1, 3);
  p.stride_w = pick(1, 3);
  p.dilate_h = pick(1, 2);
  p.dilate_w = pick(1, 2);
  p.pad_h = pick(0, 3);
  p.pad_w = pick(0, 3);
  if (pick(0, 1) == 1) p.pad_h_end = pick(0, 3);
  if (pick(0, 1) == 1) p.pad_w_end = pick(0, 3);
  p.mode = pick(0, 3) == 0 ? ConvolutionMode::kConvolution : ConvolutionMode::kCrossCorrelation;
  const bool grouped = pick(0, 1) == 1;
  p.sparse = grouped ? SparseMode::kGroup : SparseMode::kDense;
  const int64_t groups = grouped ? pick(1, 4) : 1;
  const int64_t oc = pick(1, 5), ic = pick(1, 5), fh = pick(1, 4), fw = pick(1, 4);
  Shape filter;
  if (grouped) filter.push_back(groups);
  for (int64_t dim : {oc, ic, fh, fw}) filter.push_back(dim);
  c.filter = RandomTensor(random, filter);
  c.src = RandomTensor(random, Shape{pick(1, 3), groups * ic, pick(7, 13), pick(7, 13)});
  return c;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_OPR_CONVOLUTION_REFERENCE_H_
