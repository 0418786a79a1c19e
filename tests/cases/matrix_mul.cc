// MatrixMul and MatrixMulBias.
#include "opr/matrix_mul.h"

#include "opr/matrix_mul_bias.h"
#include "tests/cases/cases.h"

namespace ashlar::testing {
namespace {

struct Product {
  MatrixMulParam param;
  HostTensor a, b;
  int64_t n = 0;
};

// [..., rows, columns], the last two swapped where the operand is given transposed.
Shape Operand(const Shape& batch, int64_t rows, int64_t columns, bool transposed) {
  Shape shape = batch;
  shape.push_back(transposed ? columns : rows);
  shape.push_back(transposed ? rows : columns);
  return shape;
}

template <typename Add>
void ForEachProduct(Cases& cases, const Add& add) {
  struct {
    Shape batch_a, batch_b;
    int64_t m, k, n;
  } const kRows[] = {
      {{}, {}, 1, 300, 100}, {{}, {}, 10, 512, 77},    {{}, {}, 3, 37, 19},
      {{}, {}, 1, 1, 1},     {{}, {}, 5, 1, 4},        {{}, {}, 17, 9, 1},
      {{4}, {4}, 5, 33, 21}, {{2, 3}, {}, 5, 7, 9},    {{2, 1}, {1, 3}, 4, 8, 5},
      {{}, {}, 30, 40, 65},  {{}, {}, 2, 2500, 70},    {{3}, {}, 11, 20, 33},
      {{1}, {4}, 3, 5, 2},   {{2, 3}, {3}, 6, 20, 40}, {{2, 1, 2}, {3, 1}, 1, 6, 7},
      {{}, {}, 1, 64, 24},   {{}, {}, 9, 33, 7},       {{3}, {3}, 8, 16, 8},
      {{3}, {}, 8, 16, 8},   {{2, 1}, {3}, 8, 16, 8},  {{}, {}, 10, 130, 70},
  };
  for (const auto& row : kRows) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        for (const DType dtype : cases.scope().floats) {
          add(Product{{.transposeA = a, .transposeB = b},
                      cases.Tensor(dtype, Operand(row.batch_a, row.m, row.k, a), -1, 1),
                      cases.Tensor(dtype, Operand(row.batch_b, row.k, row.n, b), -1, 1),
                      row.n});
        }
      }
    }
  }
}

}  // namespace

template <>
void AddCases<MatrixMul>(Cases& cases) {
  ForEachProduct(cases, [&](const Product& product) {
    KernelCase test{"product", Make<MatrixMul>(product.param), {product.a, product.b}};
    test.tolerance = 3e-6;
    test.gpu_tolerance = 2 * ToleranceOf(product.a.dtype());
    for (const bool constant : {false, true}) {
      test.constant = {false, constant};
      cases.Add(test);
    }
  });
}

template <>
void AddCases<MatrixMulBias>(Cases& cases) {
  ForEachProduct(cases, [&](const Product& product) {
    MatrixMulBiasParam param{product.param};
    param.relu = param.transposeA == param.transposeB;
    KernelCase test{"product and bias",
                    Make<MatrixMulBias>(param),
                    {product.a, product.b, cases.Tensor(product.a.dtype(), {product.n})}};
    test.tolerance = 3e-6;
    test.gpu_tolerance = 2 * ToleranceOf(product.a.dtype());
    cases.Add(test);
  });
}

}  // namespace ashlar::testing
