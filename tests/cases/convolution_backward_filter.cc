// Cases of ConvolutionBackwardFilter and ConvolutionFilterUpdate.
#include "opr/convolution_backward_filter.h"

#include <algorithm>

#include "opr/convolution_filter_update.h"
#include "tests/cases/cases.h"
#include "tests/cases/convolution_layer.h"

namespace ashlar::testing {
namespace {

KernelCase FilterCase(Cases& cases, const ConvolutionParam& param, const Shape& src,
                      const Shape& filter) {
  ConvolutionParam own = param;
  own.sparse = filter.rank() == 5 ? SparseMode::kGroup : SparseMode::kDense;
  const Shape diff =
      InferConvolution(own, {DType::kFloat32, src}, {DType::kFloat32, filter})->output();
  KernelCase test{"filter gradient",
                  Make<ConvolutionBackwardFilter>(own),
                  {cases.Tensor(src, -1, 1), cases.Tensor(diff, -1, 1), cases.Tensor(filter)}};
  test.tolerance = 1e-5;
  test.large = src.num_elements() > 20000;
  return test;
}

void AddRandomFilter(Cases& cases) {
  ConvolutionParam param = Window(cases.Pick(1, 3), cases.Pick(0, 2), cases.Pick(1, 2));
  param.stride_w = cases.Pick(1, 3);
  param.pad_h_end = cases.Pick(-1, 3);
  param.pad_w_end = cases.Pick(-1, 3);
  if (cases.Pick(0, 3) == 0) param.mode = ConvolutionMode::kConvolution;
  const int64_t groups = cases.Pick(0, 1) == 0 ? 1 : cases.Pick(1, 5);
  const int64_t in = cases.Pick(1, 40 / groups), out = cases.Pick(1, 40 / groups);
  const Shape src = {cases.Pick(1, 3), groups * in, cases.Pick(5, 16), cases.Pick(5, 16)};
  const int64_t fh = cases.Pick(1, 3), fw = cases.Pick(1, 3);
  const Shape filter = groups == 1 ? Shape{out, in, fh, fw} : Shape{groups, out, in, fh, fw};
  if (groups > 1) param.sparse = SparseMode::kGroup;
  if (!InferConvolution(param, {DType::kFloat32, src}, {DType::kFloat32, filter}).ok()) return;
  cases.AddImages(FilterCase(cases, param, src, filter), {true, true});
}

// add(param, image, filter)
template <typename Add>
void ForEachFilter(const Add& add) {
  add(Window(2, 3), {2, 3, 33, 29}, {20, 3, 7, 7});     // the first layer
  add(Window(1, 0), {3, 33, 7, 9}, {20, 33, 1, 1});     // 1x1
  add(Window(2, 0), {1, 32, 9, 9}, {48, 32, 1, 1});     // a shortcut
  add(Window(1, 1), {2, 33, 11, 13}, {35, 33, 3, 3});   // 3x3
  add(Window(2, 1), {3, 16, 15, 15}, {32, 16, 3, 3});   // 3x3, strided
  add(Window(1, 1), {2, 64, 30, 30}, {80, 64, 3, 3});   // more than one task and chunk
  add(Window(1, 2, 2), {1, 17, 9, 9}, {18, 17, 3, 3});  // dilated
  add(Window(1, 1), {5, 40, 3, 3}, {24, 40, 3, 3});     // several images a chunk
  add(Window(1, 0), {2, 20, 5, 6}, {3, 20, 5, 6});      // one output
  add(Window(1, 0), {1, 16, 2, 300}, {16, 16, 1, 1});   // rows longer than a chunk
  add(Window(4, 0), {1, 18, 10, 10}, {17, 18, 2, 2});   // windows do not meet
  add(Window(1, 1), {2, 32, 6, 7}, {2, 32, 16, 3, 3});  // groups of whole blocks
  add(Window(2, 1), {2, 24, 9, 8}, {6, 5, 4, 3, 3});    // small groups
  add(Window(1, 1), {3, 33, 9, 8}, {33, 1, 1, 3, 3});   // depthwise
  add(Window(2, 2), {2, 48, 13, 11}, {48, 1, 1, 5, 5});
  add(Window(1, 1), {2, 20, 7, 7}, {20, 2, 1, 3, 3});  // two outputs a channel
  ConvolutionParam cropped = Window(2, -1);
  cropped.pad_w = 3;  // whole taps lie in the padding
  cropped.mode = ConvolutionMode::kConvolution;
  add(cropped, {2, 18, 9, 3}, {17, 18, 3, 4});
}

}  // namespace

template <>
void AddCases<ConvolutionBackwardFilter>(Cases& cases) {
  ForEachFilter([&](const ConvolutionParam& param, const Shape& src, const Shape& filter) {
    const KernelCase test = FilterCase(cases, param, src, filter);
    cases.AddImages(test, {true, true});
    cases.AddFormatPairs(test, {true, true}, /*from_planes=*/true);
  });
  for (int turn = 0; turn < 60; ++turn) AddRandomFilter(cases);

  KernelCase known{
      "known",
      Make<ConvolutionBackwardFilter>({}),
      {HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}),
       HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 1, 2}, {10, 100}),
       cases.Tensor({1, 1, 2, 2})}};
  known.expected = {
      HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 2, 2}, {210, 320, 540, 650})};
  cases.AddKnown(known);
  const OperatorPtr op = Make<ConvolutionBackwardFilter>({});
  cases.Reject({
      {op, {{1, 3, 8, 8}, {1, 4, 6, 6}}, "2 inputs"},
      {op, {{1, 3, 8, 8}, {1, 4, 5, 6}, {4, 3, 3, 3}}, "diff"},
      {op, {{1, 3, 8, 8}, {1, 4, 6, 6}, {4, 2, 3, 3}}, "channels"},
      {op, {{1, 3, 8}, {1, 4, 6, 6}, {4, 3, 3, 3}}, "rank"},
  });
}

template <>
void AddCases<ConvolutionFilterUpdate>(Cases& cases) {
  ForEachFilter([&](const ConvolutionParam& param, const Shape& src, const Shape& filter) {
    KernelCase test = FilterCase(cases, param, src, filter);
    const auto& own = static_cast<const ConvolutionBackwardFilter&>(*test.op).param();
    test.op = Make<ConvolutionFilterUpdate>({own, 0.9});
    for (const bool in_place : {false, true}) {
      test.in_place = in_place ? std::optional<int>(ConvolutionFilterUpdate::kDest) : std::nullopt;
      cases.AddImages(test, {true, true});
    }
  });
  cases.Reject({{Make<ConvolutionFilterUpdate>({}),
                 {{1, 3, 8, 8}, {1, 4, 6, 6}, {4, 2, 3, 3}},
                 "channels"}});
}

}  // namespace ashlar::testing
