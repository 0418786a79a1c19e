#include "opr/pooling.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/cases/doubles.h"
#include "tests/cases/quantized.h"

namespace ashlar::testing {
namespace {

constexpr PoolingMode kPoolingModes[] = {PoolingMode::kMax, PoolingMode::kAverage,
                                         PoolingMode::kAverageCountExcludePadding};

PoolingParam Pool(int64_t window, int64_t stride, int64_t pad, int64_t pad_end = kSamePadding) {
  PoolingParam param;
  param.window_h = param.window_w = window;
  param.stride_h = param.stride_w = stride;
  param.pad_h = param.pad_w = pad;
  param.pad_h_end = param.pad_w_end = pad_end;
  return param;
}

// Adds enough outputs for whole packs of a GPU, with teams and without.
void AddManyOutputs(Cases& cases) {
  if (cases.blocked()) return;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    const int64_t pack = 16 / SizeOf(dtype);
    const auto add = [&](const Shape& shape, const PoolingParam& param) {
      KernelCase test{"many outputs", Make<PoolingForward>(param), {cases.Tensor(dtype, shape)}};
      test.formats = {cases.scope().images[0]};
      test.output_format = cases.scope().images[0];
      cases.Add(test);
    };
    add({1, 4096 * pack, 4, 4}, {.mode = PoolingMode::kAverage, .window_h = 4, .window_w = 4});
    add({1, 8 * pack, 65, 65}, {.mode = PoolingMode::kMax, .stride_h = 1, .stride_w = 1});
  }
}

void AddSpecialValues(Cases& cases) {
  for (const PoolingMode mode : {PoolingMode::kMax, PoolingMode::kAverage}) {
    for (const float special : {NAN, INFINITY, -INFINITY}) {
      HostTensor image = cases.Tensor({1, 3, 7, 7});
      image.Set(48, special);
      image.Set(50, special);
      cases.AddImages({"special",
                       Make<PoolingForward>({.mode = mode, .window_h = 7, .window_w = 7}),
                       {std::move(image)}});
    }
  }
  // A maximum propagates NaN.
  HostTensor x = HostTensor::Zeros(DType::kFloat32, {1, 16, 20, 20});
  for (int64_t i = 0; i < 16; i += 2) x.Set(i * 400 + 25 * i, NAN);
  x.Set(3 * 400 + 7, INFINITY);
  x.Set(3 * 400 + 8, -INFINITY);
  for (const auto& [window, stride] : {std::pair{17, 1}, {3, 2}, {3, 1}, {2, 2}}) {
    KernelCase test{"NaN", Make<PoolingForward>(Pool(window, stride, window == 3 ? 1 : 0)), {x}};
    test.tolerance = test.gpu_tolerance = 0;
    cases.Add(test);
    for (const Format format : cases.scope().images) {
      test.formats = {format};
      test.output_format = format;
      cases.Add(test);
    }
  }
}

void AddDoubles(Cases& cases) {
  PoolingParam dilated = Pool(3, 1, 2);
  dilated.dilate_h = 2;
  dilated.dilate_w = 3;
  for (PoolingParam param : {Pool(3, 2, 1), Pool(2, 2, 0, 1), dilated, Pool(9, 9, 0)}) {
    for (const PoolingMode mode : kPoolingModes) {
      param.mode = mode;
      HostTensor image = FineNumbers(cases, {2, 5, 9, 9});
      AddOfDoubles(cases, {"doubles", Make<PoolingForward>(param), {image}}, 1e-15);
      image.Set(7, NAN);
      AddOfDoubles(cases, {"doubles with NaN", Make<PoolingForward>(param), {image}}, 1e-15);
    }
  }
}

void AddRandomPool(Cases& cases, bool large) {
  PoolingParam param;
  const Shape input = {cases.Pick(1, 3), cases.Pick(1, 40), cases.Pick(1, 12), cases.Pick(1, 12)};
  param.mode = kPoolingModes[cases.Pick(0, 2)];
  param.window_h = cases.Pick(1, 5);
  param.window_w = cases.Pick(1, 5);
  param.stride_h = cases.Pick(1, 4);
  param.stride_w = cases.Pick(1, 4);
  param.pad_h = cases.Pick(0, param.window_h - 1);
  param.pad_w = cases.Pick(0, param.window_w - 1);
  if (cases.Pick(0, 2) == 0) {
    param.dilate_h = cases.Pick(1, 3);
    param.dilate_w = cases.Pick(1, 3);
  }
  param.pad_h_end = cases.Pick(0, param.window_h - 1);
  param.pad_w_end = cases.Pick(0, param.window_w - 1);
  if (!InferPooling(param, {DType::kFloat32, input}).ok()) return;
  KernelCase test{"random", Make<PoolingForward>(param), {cases.Tensor(input, -1, 1)}};
  test.large = large;
  cases.AddImages(test);
}

}  // namespace

void AddQuantizedPools(Cases& cases) {
  for (const DType dtype : {DType::kQuantized8Asymm, DType::kQuantizedS8}) {
    for (const PoolingMode mode : kPoolingModes) {
      for (PoolingParam param : {Pool(3, 2, 1), Pool(2, 2, 0), Pool(7, 1, 0), Pool(2, 1, 0, 1)}) {
        param.mode = mode;
        if (mode == PoolingMode::kAverage) param.pad_h = param.pad_w = 0;
        if (mode == PoolingMode::kAverage) param.pad_h_end = param.pad_w_end = 0;
        if (mode != PoolingMode::kMax) param.output = {dtype, 0.2f, 5};
        AddQuantized(cases,
                     {"8 bits",
                      Make<PoolingForward>(param),
                      {QuantizedTensor(cases, dtype, {2, 19, 7, 9}, {0.15f}, -3 & 0x7f)}},
                     {true});
      }
    }
  }
}

template <>
void AddCases<PoolingForward>(Cases& cases) {
  Cases apart = cases;  // with random numbers of their own
  AddQuantizedPools(apart);
  for (const PoolingMode mode : kPoolingModes) {
    for (const DType dtype : cases.scope().floats) {
      const auto add = [&](const Shape& shape, PoolingParam param) {
        param.mode = mode;
        KernelCase test{
            "pooling", Make<PoolingForward>(param), {cases.Tensor(dtype, shape, -1, 1)}};
        test.large = shape.num_elements() > 20000;
        cases.AddImages(test);
      };
      add({2, 64, 28, 28}, Pool(3, 2, 1));     // ResNet
      add({2, 48, 7, 7}, Pool(7, 7, 0));       // global
      add({1, 33, 13, 13}, Pool(13, 1, 0));    // global, SqueezeNet
      add({1, 64, 27, 27}, Pool(3, 2, 0, 1));  // ceil_mode, Inception
      add({1, 40, 14, 14}, Pool(3, 1, 1));     // the pooling branch of Inception
      add({2, 20, 14, 14}, Pool(2, 2, 0));     // VGG
      for (const Shape& shape : {Shape{2, 16, 9, 8}, Shape{1, 5, 7, 6}}) {
        add(shape, {.window_h = 3, .window_w = 3, .pad_h = 1, .pad_w = 1});
        add(shape, {.window_h = 2,
                    .window_w = 3,
                    .stride_h = 1,
                    .stride_w = 2,
                    .pad_h_end = 1,
                    .pad_w_end = 2});
        // Cropped, as in tiles.
        add(shape, {.window_h = 3,
                    .window_w = 2,
                    .stride_h = 1,
                    .stride_w = 1,
                    .pad_h = -2,
                    .pad_w = 1,
                    .pad_h_end = -1,
                    .pad_w_end = -3});
        add(shape, {.window_h = shape[2], .window_w = shape[3]});
      }
      PoolingParam dilated = Pool(3, 1, 2);
      dilated.dilate_h = 2;
      dilated.dilate_w = 3;
      add({1, 18, 9, 10}, dilated);
      add({1, 16, 12, 9}, dilated);
      // Numbers of windows and taps for which the threads of a GPU share the work in every way.
      for (const int64_t channels : {72, 10, 3}) add({2, channels, 7, 7}, Pool(7, 2, 0));
      add({1, 24, 11, 20},
          {.window_h = 5, .window_w = 9, .stride_h = 3, .stride_w = 8, .pad_h = 2, .pad_w = 4});
      add({1, 8, 40, 3},
          {.window_h = 20, .window_w = 1, .stride_h = 5, .stride_w = 2, .pad_h = -4});
    }
    PoolingParam wide = Pool(1, 1, 0);
    wide.mode = mode;
    wide.window_h = 119;
    wide.window_w = 199;
    KernelCase wide_windows{
        "wide windows", Make<PoolingForward>(wide), {cases.Tensor({1, 17, 120, 200}, -1, 1)}};
    wide_windows.large = true;
    cases.AddImages(wide_windows);
    PoolingParam halving = Pool(3, 2, 1);
    halving.mode = mode;
    for (const Shape& shape :
         {Shape{2, 3, 17, 15}, Shape{2, 3, 9, 13}, Shape{1, 16, 1, 5}, Shape{2, 35, 7, 6}}) {
      cases.AddFormatPairs(
          {"format pair", Make<PoolingForward>(halving), {cases.Tensor(shape, -1, 1)}}, {true},
          true);
    }
  }
  AddDoubles(apart);
  AddManyOutputs(cases);
  AddSpecialValues(cases);
  for (int turn = 0; turn < 200; ++turn) AddRandomPool(cases, turn >= 20);
}

}  // namespace ashlar::testing
