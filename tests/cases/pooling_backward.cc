// Cases of PoolingBackward, PoolingIndex and PoolingIndexBackward.
#include <cmath>

#include "opr/pooling_index.h"
#include "tests/cases/cases.h"

namespace ashlar::testing {
namespace {

constexpr PoolingMode kAllModes[] = {PoolingMode::kMax, PoolingMode::kAverage,
                                     PoolingMode::kAverageCountExcludePadding};

KernelCase PoolGradient(Cases& cases, const PoolingParam& param, const Shape& shape,
                        DType dtype = DType::kFloat32) {
  const Shape diff = InferPooling(param, {dtype, shape})->output();
  // Few distinct values, so that maxima occur several times in a window.
  HostTensor src = HostTensor::Zeros(dtype, shape);
  for (int64_t i = 0; i < src.num_elements(); ++i) {
    src.Set(i, static_cast<double>(cases.Pick(-3, 3)));
  }
  return {"pooling gradient",
          Make<PoolingBackward>(param),
          {std::move(src), cases.Tensor(dtype, diff)}};
}

// add(image, param)
template <typename Add>
void ForEachPool(PoolingMode mode, const Add& add_any) {
  const auto add = [&](const Shape& shape, PoolingParam param) {
    param.mode = mode;
    add_any(shape, param);
  };
  const PoolingParam halving = {
      .window_h = 3, .window_w = 3, .stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1};
  add({2, 20, 13, 12}, halving);                       // ResNet
  add({3, 3, 9, 7}, halving);                          // less than a block of channels
  add({2, 33, 6, 8}, {});                              // VGG
  add({1, 16, 5, 7}, {.window_h = 5, .window_w = 7});  // global
  add({1, 18, 7, 9}, {.window_h = 2, .window_w = 3, .stride_h = 1, .stride_w = 3, .pad_h_end = 1});
  add({1, 16, 9, 9}, {.window_h = 2,
                      .window_w = 2,
                      .stride_h = 1,
                      .stride_w = 3,
                      .pad_h = -1,
                      .pad_w = 1,
                      .dilate_h = 3,
                      .dilate_w = 2});
  add({1, 5, 8, 8}, {.window_h = 1, .window_w = 1, .stride_h = 3, .stride_w = 3});
}

}  // namespace

template <>
void AddCases<PoolingBackward>(Cases& cases) {
  for (const PoolingMode mode : kAllModes) {
    ForEachPool(mode, [&](const Shape& shape, const PoolingParam& param) {
      for (const DType dtype : cases.scope().floats) {
        const KernelCase test = PoolGradient(cases, param, shape, dtype);
        cases.AddImages(test, {true, true});
        cases.AddFormatPairs(test, {true, true}, /*from_planes=*/true);
      }
    });
  }
  for (int turn = 0; turn < 60; ++turn) {
    const PoolingParam param = {.mode = kAllModes[cases.Pick(0, 2)],
                                .window_h = cases.Pick(1, 4),
                                .window_w = cases.Pick(1, 4),
                                .stride_h = cases.Pick(1, 3),
                                .stride_w = cases.Pick(1, 3),
                                .pad_h = cases.Pick(0, 1),
                                .pad_w = cases.Pick(0, 1),
                                .pad_h_end = cases.Pick(0, 2),
                                .pad_w_end = cases.Pick(0, 2)};
    const Shape shape = {cases.Pick(1, 3), cases.Pick(1, 36), cases.Pick(1, 9), cases.Pick(1, 9)};
    if (!InferPooling(param, {DType::kFloat32, shape}).ok()) continue;
    cases.AddImages(PoolGradient(cases, param, shape), {true, true});
  }

  // The first of equal maxima; the first NaN if there is one.
  const auto plane = [](const Shape& shape, const std::vector<float>& values) {
    return HostTensor::FromValues<float>(DType::kFloat32, shape, values);
  };
  const PoolingParam row = {.window_h = 1, .window_w = 3, .stride_h = 1, .stride_w = 3};
  KernelCase first{
      "first maximum",
      Make<PoolingBackward>(row),
      {plane({1, 1, 1, 9}, {1, 7, 7, NAN, 2, NAN, -1, -2, -1}), plane({1, 1, 1, 3}, {10, 20, 30})}};
  first.expected = {plane({1, 1, 1, 9}, {0, 10, 0, 20, 0, 0, 30, 0, 0})};
  first.tolerance = 0;
  cases.AddKnown(first);
  if (cases.blocked()) {
    first.formats = {Format::kNCHW16c, Format::kNCHW16c};
    first.output_format = Format::kNCHW16c;
    cases.Add(first);
  }
  const OperatorPtr op = Make<PoolingBackward>({});
  cases.Reject({
      {op, {{1, 3, 8, 8}}, "1 inputs"},
      {op, {{1, 3, 8, 8}, {1, 3, 4, 5}}, "diff"},
      {op, {{1, 3, 8}, {1, 3, 4, 4}}, "rank"},
  });
}

template <>
void AddCases<PoolingIndex>(Cases& cases) {
  ForEachPool(PoolingMode::kMax, [&](const Shape& shape, const PoolingParam& param) {
    KernelCase test{
        "first maxima", Make<PoolingIndex>(param), {PoolGradient(cases, param, shape).inputs[0]}};
    test.tolerance = 0;
    for (const int threads : {1, 3}) {
      test.threads = threads;
      cases.AddImages(test);
    }
  });
  const PoolingParam row = {.window_h = 1, .window_w = 3, .stride_h = 1, .stride_w = 3};
  KernelCase known{"known",
                   Make<PoolingIndex>(row),
                   {HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 1, 9},
                                                  {1, 7, 7, NAN, 2, NAN, -1, -2, -1})}};
  known.expected = {HostTensor::FromValues<uint8_t>(DType::kUint8, {1, 1, 1, 3}, {1, 0, 0})};
  known.tolerance = 0;
  cases.AddKnown(known);
  cases.Reject({
      {Make<PoolingIndex>({.mode = PoolingMode::kAverage}), {{1, 3, 8, 8}}, "expected maxima"},
      {Make<PoolingIndex>({.window_h = 16, .window_w = 17}), {{1, 3, 20, 20}}, "expected maxima"},
  });
}

// With an index from PoolingIndex, PoolingIndexBackward gives the result of PoolingBackward.
template <>
void AddCases<PoolingIndexBackward>(Cases& cases) {
  ForEachPool(PoolingMode::kMax, [&](const Shape& shape, const PoolingParam& param) {
    KernelCase test = PoolGradient(cases, param, shape);
    test.expected = *test.op->Evaluate(test.inputs);
    test.inputs.push_back((*PoolingIndex(param).Evaluate({test.inputs[0]}))[0]);
    test.op = Make<PoolingIndexBackward>(param);
    cases.AddKnown(test);
    for (const int threads : {1, 3}) {
      test.threads = threads;
      cases.AddImages(test, {true, true});
    }
  });
  const OperatorPtr op = Make<PoolingIndexBackward>({});
  cases.Reject({{op, {{1, 3, 8, 8}, {1, 3, 4, 4}}, "2 inputs"},
                {op, {{1, 3, 8, 8}, {1, 3, 4, 4}, {1, 3, 4, 4}}, "index"}});
}

}  // namespace ashlar::testing
