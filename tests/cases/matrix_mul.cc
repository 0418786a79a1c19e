// Cases of MatrixMul, MatrixMulBias and MatrixMulUpdate.
#include "opr/matrix_mul.h"

#include "opr/matrix_mul_bias.h"
#include "opr/matrix_mul_update.h"
#include "tests/cases/doubles.h"

namespace ashlar::testing {
namespace {

struct Product {
  MatrixMulParam param;
  HostTensor a, b;
  int64_t n = 0;
};

// Returns [..., rows, columns], with the last two swapped if the operand is given transposed.
Shape Operand(const Shape& batch, int64_t rows, int64_t columns, bool transposed) {
  Shape shape = batch;
  shape.push_back(transposed ? columns : rows);
  shape.push_back(transposed ? rows : columns);
  return shape;
}

struct Operands {
  Shape batch_a, batch_b;
  int64_t m, k, n;
} const kOperands[] = {
    {{}, {}, 1, 300, 100}, {{}, {}, 10, 512, 77},    {{}, {}, 3, 37, 19},
    {{}, {}, 1, 1, 1},     {{}, {}, 5, 1, 4},        {{}, {}, 17, 9, 1},
    {{4}, {4}, 5, 33, 21}, {{2, 3}, {}, 5, 7, 9},    {{2, 1}, {1, 3}, 4, 8, 5},
    {{}, {}, 30, 40, 65},  {{}, {}, 2, 2500, 70},    {{3}, {}, 11, 20, 33},
    {{1}, {4}, 3, 5, 2},   {{2, 3}, {3}, 6, 20, 40}, {{2, 1, 2}, {3, 1}, 1, 6, 7},
    {{}, {}, 1, 64, 24},   {{}, {}, 9, 33, 7},       {{3}, {3}, 8, 16, 8},
    {{3}, {}, 8, 16, 8},   {{2, 1}, {3}, 8, 16, 8},  {{}, {}, 10, 130, 70},
};

template <typename Add>
void ForEachProduct(Cases& cases, const Add& add) {
  for (const Operands& row : kOperands) {
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

void AddProduct(Cases& cases, const Product& product, bool large) {
  KernelCase test{"product", Make<MatrixMul>(product.param), {product.a, product.b}};
  test.tolerance = 3e-6;
  test.gpu_tolerance = 2 * ToleranceOf(product.a.dtype());
  test.large = large;
  for (const bool constant : {false, true}) {
    test.constant = {false, constant};
    cases.Add(test);
  }
}

// Adds rows and columns that fill no tile, sums of one slice and of several, batches of either
// operand.
void AddRandomProduct(Cases& cases) {
  Shape batch_a, batch_b;
  for (int64_t left = cases.Pick(0, 2); left > 0; --left) {
    const int64_t size = cases.Pick(1, 3), broadcast = cases.Pick(0, 3);
    batch_a.push_back(broadcast == 1 ? 1 : size);
    batch_b.push_back(broadcast == 2 ? 1 : size);
  }
  const int64_t m = cases.Pick(1, 30), n = cases.Pick(1, 140);
  const int64_t k = cases.Pick(0, 2) > 0 ? cases.Pick(1, 40) : cases.Pick(254, 520);
  const MatrixMulParam param{.transposeA = cases.Pick(0, 2) == 0,
                             .transposeB = cases.Pick(0, 1) == 0};
  const bool same = cases.Pick(0, 2) == 0;  // one B for all matrices of A
  AddProduct(cases,
             {param, cases.Tensor(Operand(batch_a, m, k, param.transposeA), -1, 1),
              cases.Tensor(Operand(same ? Shape() : batch_b, k, n, param.transposeB), -1, 1), n},
             /*large=*/true);
}

}  // namespace

template <>
void AddCases<MatrixMul>(Cases& cases) {
  ForEachProduct(cases,
                 [&](const Product& product) { AddProduct(cases, product, /*large=*/false); });
  for (int turn = 0; turn < 150; ++turn) AddRandomProduct(cases);
  Cases apart = cases;  // with random numbers of their own
  for (const Operands& sizes : kOperands) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        AddOfDoubles(apart,
                     {"product of doubles",
                      Make<MatrixMul>({.transposeA = a, .transposeB = b}),
                      {FineNumbers(apart, Operand(sizes.batch_a, sizes.m, sizes.k, a)),
                       SmallIntegers(apart, Operand(sizes.batch_b, sizes.k, sizes.n, b))}},
                     0);
      }
    }
  }
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

template <>
void AddCases<MatrixMulUpdate>(Cases& cases) {
  ForEachProduct(cases, [&](const Product& product) {
    if (product.a.dtype() != DType::kFloat32) return;  // states are Float32
    const Shape to = InferMatrixMul(product.param, {DType::kFloat32, product.a.shape()},
                                    {DType::kFloat32, product.b.shape()})
                         ->output();
    KernelCase test{"added product",
                    Make<MatrixMulUpdate>({product.param, 0.9}),
                    {product.a, product.b, cases.Tensor(to)}};
    test.tolerance = 3e-6;
    for (const int threads : {1, 3}) {
      test.threads = threads;
      for (const bool in_place : {false, true}) {
        test.in_place = in_place ? std::optional<int>(MatrixMulUpdate::kDest) : std::nullopt;
        cases.Add(test);
      }
    }
  });
  const OperatorPtr op = Make<MatrixMulUpdate>({});
  cases.Reject(
      {{op, {{2, 3}, {3, 4}}, "2 inputs, expected 3"}, {op, {{2, 3}, {3, 4}, {2, 3}}, "dest"}});
}

}  // namespace ashlar::testing
