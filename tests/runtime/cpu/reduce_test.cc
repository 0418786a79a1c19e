#include "opr/reduce.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "tests/runtime/cpu/kernel_harness.h"

namespace ashlar::cpu {
namespace {

constexpr ReduceMode kModes[] = {ReduceMode::kSum, ReduceMode::kSumSqr, ReduceMode::kProduct,
                                 ReduceMode::kMin, ReduceMode::kMax,    ReduceMode::kMean};

HostTensor ShapeVector(const std::vector<int32_t>& dims) {
  return HostTensor::FromValues<int32_t>(DType::kInt32, {static_cast<int64_t>(dims.size())}, dims);
}

// Values around 1, so that products neither vanish nor overflow.
HostTensor Values(int seed, DType dtype, const Shape& shape) {
  std::mt19937_64 random(seed);
  return IsFloat(dtype) ? RandomTensor(random, dtype, shape, 0.9, 1.1)
                        : RandomTensor(random, dtype, shape, 1, 2.3);
}

TEST(ReduceTest, EveryAxis) {
  for (const Shape& shape :
       {Shape{2, 35, 7, 9}, Shape{1000}, Shape{3, 1, 500}, Shape{130, 257}, Shape{2, 3, 1, 2, 5}}) {
    for (const ReduceMode mode : kModes) {
      for (int axis = -1; axis < shape.rank(); ++axis) {
        KernelCase test;
        test.op = std::make_shared<const Reduce>(ReduceParam{mode, axis});
        test.inputs = {Values(axis, DType::kFloat32, shape)};
        for (test.threads = 1; test.threads <= 2; ++test.threads) CheckKernels(test, 1e-6);
      }
    }
  }
}

TEST(ReduceTest, DownToAShape) {
  struct {
    Shape input;
    std::vector<int32_t> target;
  } const kRows[] = {
      {{2, 35, 7, 9}, {2, 35, 1, 1}},
      {{2, 35, 7, 9}, {1, 35, 1, 1}},
      {{2, 35, 7, 9}, {1, 1, 7, 9}},
      {{2, 35, 7, 9}, {2, 1, 7, 1}},
      {{2, 35, 7, 9}, {1, 35, 1, 9}},
      {{2, 35, 7, 9}, {1, 1, 1, 1}},
      {{2, 35, 7, 9}, {1}},
      {{2, 35, 7, 9}, {2, 35, 7, 9}},
      {{0, 3}, {1, 3}},
      {{4, 0}, {4, 0}},
  };
  for (const auto& row : kRows) {
    for (const ReduceMode mode : kModes) {
      if (row.input.num_elements() == 0 && mode >= ReduceMode::kMin) continue;
      KernelCase test;
      test.op = std::make_shared<const Reduce>(ReduceParam{mode, kNoAxis});
      test.inputs = {Values(1, DType::kFloat32, row.input), ShapeVector(row.target)};
      CheckKernels(test, 1e-6);
      test.threads = 2;
      test.unaligned = true;
      CheckKernels(test, 1e-6);
    }
  }
}

TEST(ReduceTest, EveryDType) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kInt64, DType::kInt32,
                            DType::kInt8, DType::kUint8}) {
    for (const ReduceMode mode : kModes) {
      if (mode == ReduceMode::kMean && !IsFloat(dtype)) continue;
      for (int axis = 0; axis < 2; ++axis) {
        KernelCase test;
        test.op = std::make_shared<const Reduce>(ReduceParam{mode, axis});
        test.inputs = {Values(1, dtype, {19, 37})};
        CheckKernels(test, IsFloat(dtype) ? 0.01 : 0);
      }
    }
  }
}

TEST(ReduceTest, ExtremesHandANaNOn) {
  HostTensor x = HostTensor::Zeros(DType::kFloat32, {3, 40});
  x.Set(40, std::numeric_limits<double>::quiet_NaN());
  x.Set(119, std::numeric_limits<double>::quiet_NaN());
  for (const ReduceMode mode : {ReduceMode::kMin, ReduceMode::kMax}) {
    for (int axis = 0; axis < 2; ++axis) {
      KernelCase test;
      test.op = std::make_shared<const Reduce>(ReduceParam{mode, axis});
      test.inputs = {x};
      CheckKernels(test, 0);
    }
  }
}

}  // namespace
}  // namespace ashlar::cpu
