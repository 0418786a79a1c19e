#include "opr/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/runtime/cpu/kernel_harness.h"

namespace ashlar::cpu {
namespace {

constexpr PoolingMode kModes[] = {PoolingMode::kMax, PoolingMode::kAverage,
                                  PoolingMode::kAverageCountExcludePadding};

struct Row {
  Shape input;
  PoolingParam param;
};

// Every kernel in both formats.
void CheckBothFormats(const Row& row, int threads, int seed) {
  std::mt19937_64 random(seed);
  KernelCase test;
  test.op = std::make_shared<const PoolingForward>(row.param);
  test.inputs = {RandomTensor(random, DType::kFloat32, row.input)};
  test.threads = threads;
  test.unaligned = threads == 2;
  for (const Format format : kFormats) {
    test.formats = {format};
    test.output_format = format;
    CheckKernels(test, 2e-6);
  }
}

PoolingParam Pool(int64_t window, int64_t stride, int64_t pad, int64_t pad_end = kSamePadding) {
  PoolingParam param;
  param.window_h = param.window_w = window;
  param.stride_h = param.stride_w = stride;
  param.pad_h = param.pad_w = pad;
  param.pad_h_end = param.pad_w_end = pad_end;
  return param;
}

TEST(PoolingTest, WindowsOfTheZoo) {
  const Row kRows[] = {
      {{2, 64, 28, 28}, Pool(3, 2, 1)},     // ResNet
      {{2, 48, 7, 7}, Pool(7, 7, 0)},       // global
      {{1, 33, 13, 13}, Pool(13, 1, 0)},    // global, SqueezeNet
      {{1, 64, 27, 27}, Pool(3, 2, 0, 1)},  // ceil_mode, Inception
      {{1, 40, 14, 14}, Pool(3, 1, 1)},     // the pooling branch of Inception
      {{2, 20, 14, 14}, Pool(2, 2, 0)},     // VGG
  };
  for (Row row : kRows) {
    for (const PoolingMode mode : kModes) {
      row.param.mode = mode;
      CheckBothFormats(row, 1, 1);
      CheckBothFormats(row, 2, 1);
    }
  }
}

TEST(PoolingTest, RandomGeometries) {
  for (int seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    Row row;
    row.input = {pick(1, 3), pick(1, 40), pick(1, 12), pick(1, 12)};
    row.param.mode = kModes[pick(0, 2)];
    row.param.window_h = pick(1, 5);
    row.param.window_w = pick(1, 5);
    row.param.stride_h = pick(1, 4);
    row.param.stride_w = pick(1, 4);
    row.param.pad_h = pick(0, row.param.window_h - 1);
    row.param.pad_w = pick(0, row.param.window_w - 1);
    row.param.pad_h_end = pick(0, row.param.window_h - 1);
    row.param.pad_w_end = pick(0, row.param.window_w - 1);
    if (!InferPooling(row.param, {DType::kFloat32, row.input}).ok()) continue;
    CheckBothFormats(row, static_cast<int>(pick(1, 2)), seed);
  }
}

TEST(PoolingTest, WideWindows) {
  for (const PoolingMode mode : kModes) {
    Row row{{1, 17, 120, 200}, Pool(1, 1, 0)};
    row.param.mode = mode;
    row.param.window_h = 119;
    row.param.window_w = 199;
    CheckBothFormats(row, 2, 1);
  }
}

// oneDNN's kernels for planes drop it in small windows.
TEST(PoolingTest, MaximumHandsANaNOn) {
  HostTensor x = HostTensor::Zeros(DType::kFloat32, {1, 16, 20, 20});
  for (int64_t i = 0; i < 16; i += 2) x.Set(i * 400 + 25 * i, NAN);
  x.Set(3 * 400 + 7, INFINITY);
  x.Set(3 * 400 + 8, -INFINITY);
  for (const Format format : kFormats) {
    for (const auto& [window, stride] : {std::pair{17, 1}, {3, 2}, {3, 1}, {2, 2}}) {
      if (format == Format::kDefault && window < 17) continue;
      KernelCase test;
      test.op = std::make_shared<const PoolingForward>(Pool(window, stride, window == 3 ? 1 : 0));
      test.inputs = {x};
      test.formats = {format};
      test.output_format = format;
      CheckKernels(test, 0);
    }
  }
}

// Images of less than a block of channels may stay row-major where the next operator reads blocks.
TEST(PoolingTest, FromPlanesIntoBlocks) {
  for (const PoolingMode mode : kModes) {
    for (const Format format : {Format::kNCHW16c, Format::kNHCW16c}) {
      std::mt19937_64 random(1);
      PoolingParam param = Pool(3, 2, 1);
      param.mode = mode;
      KernelCase test;
      test.op = std::make_shared<const PoolingForward>(param);
      test.inputs = {RandomTensor(random, DType::kFloat32, {2, 3, 17, 15})};
      test.output_format = format;
      test.threads = 2;
      CheckKernels(test, 2e-6);
    }
  }
}

}  // namespace
}  // namespace ashlar::cpu
