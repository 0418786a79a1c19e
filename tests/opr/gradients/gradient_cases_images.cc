// Gradient cases of convolutions, pooling and normalisations.
#include "opr/batch_norm_training.h"
#include "opr/conv_bias.h"
#include "opr/convolution3d.h"
#include "opr/convolution_backward_data.h"
#include "opr/lrn.h"
#include "opr/pooling.h"
#include "opr/resize.h"
#include "tests/opr/gradients/gradient_cases.h"
#include "tests/support/activations.h"

namespace ashlar::testing {
namespace {

struct Convolution {
  ConvolutionParam param;
  Shape src, filter;
};

ConvolutionParam With(void (*change)(ConvolutionParam&)) {
  ConvolutionParam param;
  change(param);
  return param;
}

// Returns strides that skip rows, padding on each side and none, dilation, groups, flipped filters.
const std::vector<Convolution>& Convolutions() {
  using P = ConvolutionParam;
  static const auto* const rows = new std::vector<Convolution>{
      {{}, {2, 3, 5, 4}, {2, 3, 3, 3}},
      {With([](P& p) { p.pad_h = p.pad_w = 1; }), {1, 2, 4, 5}, {3, 2, 3, 3}},
      {With([](P& p) { p.stride_h = 2, p.stride_w = 3; }), {1, 2, 6, 8}, {2, 2, 3, 2}},
      {With([](P& p) { p.stride_h = p.stride_w = 2, p.pad_h = p.pad_w = 1, p.pad_h_end = 0; }),
       {2, 1, 6, 7},
       {2, 1, 3, 3}},
      {With([](P& p) { p.dilate_h = 2, p.dilate_w = 3, p.pad_w = 2; }), {1, 1, 6, 7}, {2, 1, 2, 3}},
      {With([](P& p) { p.stride_h = 3, p.pad_h = -1, p.pad_w_end = 2; }),
       {1, 2, 8, 4},
       {1, 2, 2, 2}},
      {With([](P& p) { p.mode = ConvolutionMode::kConvolution, p.pad_h = 1; }),
       {1, 2, 4, 4},
       {2, 2, 3, 2}},
      {With([](P& p) { p.sparse = SparseMode::kGroup, p.stride_w = 2, p.pad_w = 1; }),
       {2, 4, 3, 5},
       {2, 1, 2, 2, 3}},
      {With([](P& p) { p.sparse = SparseMode::kGroup, p.pad_h = p.pad_w = 1; }),
       {1, 3, 4, 4},
       {3, 1, 1, 3, 3}},
      {{}, {2, 3, 2, 2}, {4, 3, 1, 1}},
  };
  return *rows;
}

void AddConvolutions(GradientCases& cases) {
  for (const Convolution& row : Convolutions()) {
    cases.Add<ConvolutionForward>(row.param, {cases.Smooth(row.src), cases.Smooth(row.filter)});
    const bool grouped = row.param.sparse == SparseMode::kGroup;
    const Shape& f = row.filter;
    // The same filter, from an image with as many channels as it produces.
    Shape image = row.src;
    image[1] = grouped ? f[0] * f[1] : f[0];
    if (row.param.pad_h >= 0) {
      cases.Add<ConvolutionBackwardData>(row.param, {cases.Smooth(image), cases.Smooth(f)});
      const auto types = InferShapes(ConvolutionBackwardData(row.param), {image, f});
      cases.Add<ConvolutionBackwardData>(
          row.param, {cases.Smooth(image), cases.Smooth(f), cases.Smooth((*types)[0].shape)});
    }
    const Shape bias = {1, image[1], 1, 1};
    cases.Add<ConvBiasForward>(
        {row.param}, {cases.Smooth(row.src), cases.Smooth(row.filter), cases.Smooth(bias)});
  }
  // Adds each activation, on sums far from its kinks: one channel below, one between, one above
  // them.
  for (const ScalarFunction activation : Activations()) {
    for (const double centre : {-8.0, 0.75, 9.0}) {
      ConvBiasParam param;
      param.nonlineMode = activation;
      param.parameters = DefaultsOf(activation);
      cases.Add<ConvBiasForward>(param,
                                 {cases.Smooth({1, 1, 3, 3}), cases.Smooth({2, 1, 2, 2}, -0.1, 0.1),
                                  cases.Smooth({1, 2, 1, 1}, centre - 0.01, centre + 0.01),
                                  cases.Smooth({1, 2, 2, 2}, -0.05, 0.05)});
    }
  }
  for (const bool grouped : {false, true}) {
    Convolution3DParam param;
    param.sparse = grouped ? SparseMode::kGroup : SparseMode::kDense;
    param.stride_d = param.dilate_w = 2;
    param.pad_d = param.pad_h = 1;
    const Shape filter = grouped ? Shape{2, 1, 1, 2, 2, 2} : Shape{2, 2, 2, 2, 2};
    cases.Add<Convolution3DForward>(
        param, {cases.Smooth({1, 2, 3, 3, 4}), cases.Smooth(filter), cases.Smooth({2})});
  }
}

void AddPooling(GradientCases& cases) {
  for (const PoolingMode mode :
       {PoolingMode::kMax, PoolingMode::kAverage, PoolingMode::kAverageCountExcludePadding}) {
    const PoolingParam rows[] = {
        {.mode = mode},
        {.mode = mode, .window_h = 3, .window_w = 2, .stride_h = 2, .stride_w = 1, .pad_h = 1},
        {.mode = mode, .window_h = 3, .window_w = 3, .stride_h = 1, .pad_w = 1, .pad_w_end = 2},
        {.mode = mode, .window_h = 2, .stride_h = 1, .dilate_h = 2},
    };
    for (const PoolingParam& param : rows) {
      cases.Add<PoolingForward>(param, {cases.Distinct({2, 2, 5, 6})});
    }
  }
}

void AddNormalisations(GradientCases& cases) {
  for (const Shape& x : {Shape{2, 3, 2, 2}, Shape{4, 2}, Shape{2, 2, 3}}) {
    Shape each = x;
    for (int i = 0; i < each.rank(); ++i) each[i] = i == 1 ? each[i] : 1;
    for (const Shape& channels : {Shape{x[1]}, each}) {
      cases.Add<BatchNorm>({1e-3}, {cases.Smooth(x), cases.Smooth(channels), cases.Smooth(channels),
                                    cases.Smooth(channels), cases.Smooth(channels, 0.5, 2)});
      // All three outputs have a gradient, mean and variance included.
      cases.Add<BatchNormTraining>(
          {1e-2}, {cases.Smooth(x), cases.Smooth(channels), cases.Smooth(channels)});
    }
  }
  for (const int64_t size : {1, 2, 3, 5, 12}) {
    for (const double beta : {0.75, 1.0}) {
      cases.Add<LRN>({size, 0.8, beta, 1.2}, {cases.Smooth({2, 5, 2, 2})});
    }
  }
}

void AddResizes(GradientCases& cases) {
  for (const ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic}) {
    for (const auto& target : {std::vector<int64_t>{5, 2}, {2, 7}}) {
      for (const auto coordinates : {ResizeCoordinates::kHalfPixel, ResizeCoordinates::kAsymmetric,
                                     ResizeCoordinates::kAlignCorners}) {
        ResizeParam param;
        param.axes = {2, 3};
        param.mode = mode;
        param.coordinates = coordinates;
        cases.Add<Resize>(param, {cases.Smooth({1, 2, 3, 4}), Int64Vector(target)});
      }
    }
  }
}

}  // namespace

void AddImageCases(GradientCases& cases) {
  AddConvolutions(cases);
  AddPooling(cases);
  AddNormalisations(cases);
  AddResizes(cases);
}

}  // namespace ashlar::testing
