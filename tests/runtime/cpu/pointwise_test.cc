#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "opr/elemwise.h"
#include "tests/runtime/cpu/kernel_harness.h"

namespace ashlar::cpu {
namespace {

constexpr int kNumModes = static_cast<int>(kNumScalarFunctions);

OperatorPtr MakeElemwise(ScalarFunction mode) {
  return std::make_shared<const Elemwise>(ElemwiseParam{mode, -0.5, 0.5});
}

bool TakesIntegers(ScalarFunction mode) {
  const InputInfo x{{DType::kInt32, Shape{1}}};
  return MakeElemwise(mode)->Infer(std::vector<InputInfo>(Arity(mode), x)).ok();
}

// Values on which a mode is well conditioned.
HostTensor Operand(std::mt19937_64& random, ScalarFunction mode, DType dtype, const Shape& shape,
                   int input) {
  const bool positive = mode == ScalarFunction::kLog || mode == ScalarFunction::kSqrt ||
                        (mode == ScalarFunction::kPow && input == 0) ||
                        (mode == ScalarFunction::kTrueDiv && input == 1);
  return RandomTensor(random, dtype, shape, positive ? 0.1 : -5, 5);
}

// Terms may cancel, and a sum is only as accurate as they are.
double SmallestSum(ScalarFunction mode) { return mode == ScalarFunction::kFuseMulAdd3 ? 5 : 0.5; }

TEST(PointwiseTest, EveryModeOverEveryBroadcast) {
  struct {
    Shape a, b, c;
    bool image;  // rank 4: also in NCHW16c
  } const kShapes[] = {
      {{2, 35, 5, 7}, {2, 35, 5, 7}, {2, 35, 5, 7}, true},  //
      {{2, 32, 5, 7}, {1, 32, 1, 1}, {2, 32, 5, 7}, true},  // of each channel
      {{2, 35, 5, 7}, {1, 35, 1, 1}, {1, 35, 1, 1}, true},
      {{2, 35, 5, 7}, {2, 1, 5, 7}, {1, 1, 1, 1}, true},
      {{1, 3, 1, 7}, {2, 1, 5, 1}, {2, 3, 5, 7}, true},
      {{3, 40, 4, 4}, {1}, {4, 4}, false},
      {{7}, {5, 1}, {2, 5, 7}, false},
      {{}, {}, {}, false},
      {{2, 0, 3}, {1}, {3}, false},
      {{2, 3, 2, 2, 1, 2, 3, 2}, {3, 1, 2, 1, 2, 1, 2}, {1, 2}, false},
      {{300000}, {1}, {300000}, false},
  };
  for (int mode = 0; mode < kNumModes; ++mode) {
    for (const auto& shapes : kShapes) {
      std::mt19937_64 random(mode);
      const auto m = static_cast<ScalarFunction>(mode);
      KernelCase test{MakeElemwise(m)};
      const Shape* const dims[] = {&shapes.a, &shapes.b, &shapes.c};
      for (int i = 0; i < Arity(m); ++i) {
        test.inputs.push_back(Operand(random, m, DType::kFloat32, *dims[i], i));
      }
      test.floor = SmallestSum(m);
      for (test.threads = 1; test.threads <= 2; ++test.threads) {
        test.formats.clear();
        test.output_format = Format::kDefault;
        CheckKernels(test, 2e-6);
        if (!shapes.image) continue;
        test.unaligned = true;
        CheckKernels(test, 2e-6);
        test.unaligned = false;
        for (const Format format : {Format::kNCHW16c, Format::kNHCW16c}) {
          test.formats.assign(test.inputs.size(), format);
          test.output_format = format;
          CheckKernels(test, 2e-6);
          if (test.inputs.size() > 1) {
            test.formats.back() = Format::kDefault;
            CheckKernels(test, 2e-6);
          }
        }
      }
    }
  }
}

TEST(PointwiseTest, EveryModeOverEachInputInPlace) {
  for (int mode = 0; mode < kNumModes; ++mode) {
    const auto m = static_cast<ScalarFunction>(mode);
    for (int over = 0; over < Arity(m); ++over) {
      for (const Format format : kFormats) {
        std::mt19937_64 random(mode);
        KernelCase test{MakeElemwise(m)};
        for (int i = 0; i < Arity(m); ++i) {
          const Shape shape = i == over ? Shape{3, 21, 30, 31} : Shape{1, 21, 1, 1};
          test.inputs.push_back(Operand(random, m, DType::kFloat32, shape, i));
        }
        test.formats.assign(test.inputs.size(), format);
        test.output_format = format;
        test.in_place = over;
        test.threads = 2;
        test.floor = SmallestSum(m);
        CheckKernels(test, 2e-6);
      }
    }
  }
}

TEST(PointwiseTest, EveryDType) {
  for (int mode = 0; mode < kNumModes; ++mode) {
    const auto m = static_cast<ScalarFunction>(mode);
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kInt64, DType::kInt32,
                              DType::kInt8, DType::kUint8}) {
      if (!IsFloat(dtype) && !TakesIntegers(m)) continue;
      for (const Format format : kFormats) {
        std::mt19937_64 random(mode);
        KernelCase test{MakeElemwise(m)};
        for (int i = 0; i < Arity(m); ++i) {
          const Shape shape = i == 1 ? Shape{1, 19, 1, 1} : Shape{2, 19, 3, 5};
          test.inputs.push_back(Operand(random, m, dtype, shape, i));
        }
        test.formats.assign(test.inputs.size(), format);
        test.output_format = format;
        CheckKernels(test, 0);
      }
    }
  }
}

TEST(PointwiseTest, AccurateAtTheEndsOfTheRange) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values = {0, -0.f, 1, -1, kInfinity, -kInfinity, kNaN};
  for (float x = 1e-30f; x < 1e30f; x *= 1.7f) {
    values.push_back(x);
    values.push_back(-x);
  }
  for (float x = -87; x < 88; x += 0.37f) values.push_back(x);
  const auto size = static_cast<int64_t>(values.size());
  const HostTensor x = HostTensor::FromValues<float>(DType::kFloat32, {size}, values);
  std::reverse(values.begin(), values.end());
  const HostTensor y = HostTensor::FromValues<float>(DType::kFloat32, {size}, values);
  for (int mode = 0; mode < kNumModes; ++mode) {
    const auto m = static_cast<ScalarFunction>(mode);
    // A sum is only as accurate as its largest term; these are in EveryModeOverEveryBroadcast.
    if (m == ScalarFunction::kFuseMulAdd3) continue;
    if (m == ScalarFunction::kFuseAddSigmoid || m == ScalarFunction::kFuseAddTanh) continue;
    KernelCase test{MakeElemwise(m), {x, y}};
    test.inputs.resize(Arity(m));
    test.floor = 1e-36;  // what is below is subnormal
    CheckKernels(test, 2e-6);
  }
}

// The maximum of two zeros is the positive one, the minimum the negative one; the harness compares
// signs.
TEST(PointwiseTest, ZerosHaveSigns) {
  std::vector<float> a, b;
  for (int i = 0; i < 100; ++i) {
    a.push_back(i % 2 == 0 ? 0.0f : -0.0f);
    b.push_back(i % 4 < 2 ? 0.0f : -0.0f);
  }
  for (const ScalarFunction mode : {ScalarFunction::kMax, ScalarFunction::kMin}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
      HostTensor x = HostTensor::Zeros(dtype, {100}), y = x;
      for (int i = 0; i < 100; ++i) x.Set(i, a[i]), y.Set(i, b[i]);
      KernelCase test{MakeElemwise(mode), {x, y}};
      CheckKernels(test, 0);
    }
  }
}

TEST(PointwiseTest, SameBitsWithAnyNumberOfThreads) {
  std::mt19937_64 random(1);
  const HostTensor x = RandomTensor(random, DType::kFloat32, {100003}, -3, 3);
  KernelCase test{MakeElemwise(ScalarFunction::kTanh), {x}};
  const auto one = CheckKernels(test, 2e-6);
  test.threads = 3;
  const auto three = CheckKernels(test, 2e-6);
  ASSERT_EQ(one.size(), three.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(one[i].outputs == three[i].outputs) << one[i].implementation;
  }
}

}  // namespace
}  // namespace ashlar::cpu
