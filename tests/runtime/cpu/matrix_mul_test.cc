#include "opr/matrix_mul.h"

#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "tests/runtime/cpu/kernel_harness.h"

namespace ashlar::cpu {
namespace {

// [..., rows, columns], the last two swapped where the operand is given transposed.
Shape Operand(const Shape& batch, int64_t rows, int64_t columns, bool transposed) {
  Shape shape = batch;
  shape.push_back(transposed ? columns : rows);
  shape.push_back(transposed ? rows : columns);
  return shape;
}

TEST(MatrixMulTest, EveryTransposeAndBatch) {
  struct {
    Shape batch_a, batch_b;
    int64_t m, k, n;
  } const kRows[] = {
      {{}, {}, 1, 300, 100}, {{}, {}, 10, 512, 77},    {{}, {}, 3, 37, 19},
      {{}, {}, 1, 1, 1},     {{}, {}, 5, 1, 4},        {{}, {}, 17, 9, 1},
      {{4}, {4}, 5, 33, 21}, {{2, 3}, {}, 5, 7, 9},    {{2, 1}, {1, 3}, 4, 8, 5},
      {{}, {}, 30, 40, 65},  {{}, {}, 2, 2500, 70},    {{3}, {}, 11, 20, 33},
      {{1}, {4}, 3, 5, 2},   {{2, 3}, {3}, 6, 20, 40}, {{2, 1, 2}, {3, 1}, 1, 6, 7},
  };
  for (const auto& row : kRows) {
    for (int variant = 0; variant < 16; ++variant) {
      std::mt19937_64 random(variant);
      MatrixMulParam param;
      param.transposeA = (variant & 1) != 0;
      param.transposeB = (variant & 2) != 0;
      KernelCase test;
      test.op = std::make_shared<const MatrixMul>(param);
      test.inputs = {RandomTensor(random, DType::kFloat32,
                                  Operand(row.batch_a, row.m, row.k, param.transposeA)),
                     RandomTensor(random, DType::kFloat32,
                                  Operand(row.batch_b, row.k, row.n, param.transposeB))};
      test.constant = {false, (variant & 4) != 0};
      test.threads = (variant & 8) != 0 ? 2 : 1;
      CheckKernels(test, 3e-6);
    }
  }
}

// A Reshape may make an operand begin anywhere in a cache line.
TEST(MatrixMulTest, Unaligned) {
  std::mt19937_64 random(1);
  KernelCase test;
  test.op = std::make_shared<const MatrixMul>(MatrixMulParam{});
  test.inputs = {RandomTensor(random, DType::kFloat32, {10, 130}),
                 RandomTensor(random, DType::kFloat32, {130, 70})};
  test.unaligned = true;
  CheckKernels(test, 3e-6);
}

}  // namespace
}  // namespace ashlar::cpu
