#include "opr/matrix_mul.h"

#include <gtest/gtest.h>

#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

OperatorPtr MakeMatrixMul(bool transpose_a = false, bool transpose_b = false) {
  return std::make_shared<const MatrixMul>(
      MatrixMulParam{.transposeA = transpose_a, .transposeB = transpose_b});
}

// The batch dimensions of both operands, and of the output, with the strides of broadcasting.
struct Batches {
  Shape a, b, output;
};

// Returns the index of the matrix of an operand with batch dimensions `operand` for element `index`
// of `output`.
int64_t MatrixOf(const Shape& operand, const Shape& output, int64_t index) {
  int64_t result = 0, step = 1;
  for (int i = 1; i <= operand.rank(); ++i) {
    const int64_t dim = operand[operand.rank() - i];
    const int64_t at = index % output[output.rank() - i];
    index /= output[output.rank() - i];
    result += (dim == 1 ? 0 : at) * step;
    step *= dim;
  }
  return result;
}

Shape WithMatrix(Shape batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

TEST(MatrixMul, EvaluatesItsDefinition) {
  const std::vector<Batches> batches = {{{}, {}, {}},          {{3}, {3}, {3}},
                                        {{2, 3}, {3}, {2, 3}}, {{2, 1}, {1, 3}, {2, 3}},
                                        {{}, {2, 2}, {2, 2}},  {{2, 1, 2}, {3, 1}, {2, 3, 2}}};
  int seed = 0;
  for (const Batches& batch : batches) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      SCOPED_TRACE(++seed);
      std::mt19937_64 random(seed);
      std::uniform_int_distribution<int64_t> size(1, 9);
      const int64_t m = size(random), k = size(random), n = size(random);
      const bool ta = transposes & 1, tb = transposes & 2;
      const HostTensor a = RandomTensor(random, WithMatrix(batch.a, ta ? k : m, ta ? m : k));
      const HostTensor b = RandomTensor(random, WithMatrix(batch.b, tb ? n : k, tb ? k : n));
      std::vector<double> expected;
      for (int64_t i = 0; i < batch.output.num_elements(); ++i) {
        const int64_t at_a = MatrixOf(batch.a, batch.output, i) * m * k;
        const int64_t at_b = MatrixOf(batch.b, batch.output, i) * k * n;
        for (int64_t y = 0; y < m; ++y) {
          for (int64_t x = 0; x < n; ++x) {
            double sum = 0;
            for (int64_t l = 0; l < k; ++l) {
              sum += a.At(at_a + (ta ? l * m + y : y * k + l)) *
                     b.At(at_b + (tb ? x * k + l : l * n + x));
            }
            expected.push_back(sum);
          }
        }
      }
      const HostTensor actual = Evaluate(*MakeMatrixMul(ta, tb), {a, b});
      EXPECT_EQ(actual.shape(), WithMatrix(batch.output, m, n));
      EXPECT_TRUE(Near(actual, expected, 1e-6));
    }
  }
}

TEST(MatrixMul, CountsMultiplicationsAndAdditions) {
  const auto type = [](Shape shape) { return TensorType{DType::kFloat32, shape}; };
  EXPECT_EQ(
      MakeMatrixMul(false, true)
          ->Computation(OwnedSite{{{type({10, 2048})}, {type({1000, 2048})}}, {type({10, 1000})}}),
      40960000);
  EXPECT_EQ(MakeMatrixMul(true, false)
                ->Computation(OwnedSite{{{type({5, 4, 3})}, {type({4, 7})}}, {type({5, 3, 7})}}),
            2 * 5 * 3 * 4 * 7);
}

TEST(MatrixMul, RefusesWhatItCannotCompute) {
  constexpr int64_t kLarge = int64_t{1} << 20;
  ExpectRejected({
      {MakeMatrixMul(), {{2, 3}}, "1 inputs, expected 2"},
      {MakeMatrixMul(), {{3}, {3, 2}}, "expected rank 2 or more"},
      {MakeMatrixMul(), {{2, 3}, {4, 2}}, "a row of A has 3 elements, a column of B has 4"},
      {MakeMatrixMul(true, true),
       {{2, 3}, {2, 4}},
       "a row of A transposed has 2 elements, a column of B transposed has 4"},
      {MakeMatrixMul(), {{2, 3, 3}, {3, 3, 3}}, "shapes {2} and {3} do not broadcast"},
      {MakeMatrixMul(), {{kLarge, 1}, {1, kLarge}}, "is larger than"},
  });
}

}  // namespace
}  // namespace ashlar::testing
