// Matrix products, means and norms of integers, which wrap around like C's unsigned ones, compared
// with sums in 64 bits.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/serialization/onnx/import/computed_node.h"

namespace ashlar::testing {
namespace {

constexpr DType kIntegers[] = {DType::kInt32, DType::kInt64, DType::kUint32, DType::kUint64};

int64_t Integer(const HostTensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kInt32:
      return tensor.data<int32_t>()[static_cast<size_t>(i)];
    case DType::kUint32:
      return tensor.data<uint32_t>()[static_cast<size_t>(i)];
    case DType::kUint64:
      return static_cast<int64_t>(tensor.data<uint64_t>()[static_cast<size_t>(i)]);
    default:
      return tensor.data<int64_t>()[static_cast<size_t>(i)];
  }
}

// Returns an integer of 64 bits as the dtype stores it.
int64_t Stored(DType dtype, uint64_t value) {
  if (dtype == DType::kInt32) return static_cast<int32_t>(value);
  if (dtype == DType::kUint32) return static_cast<uint32_t>(value);
  return static_cast<int64_t>(value);
}

class IntegerProducts : public ::testing::TestWithParam<DType> {
 protected:
  HostTensor Any(const Shape& shape) { return AnyIntegers(random_, GetParam(), shape); }

  // Expects sums over k of a[m, k] * b[k, n], plus c[n] if it is not null.
  void ExpectProducts(const HostTensor& y, const HostTensor& a, const HostTensor& b, int64_t rows,
                      int64_t inner, int64_t columns, bool a_by_columns = false,
                      bool b_by_columns = false, const HostTensor* c = nullptr) {
    ASSERT_EQ(y.dtype(), GetParam());
    ASSERT_EQ(y.num_elements(), rows * columns);
    for (int64_t m = 0; m < rows; ++m) {
      for (int64_t n = 0; n < columns; ++n) {
        uint64_t sum = c != nullptr ? static_cast<uint64_t>(Integer(*c, n)) : 0;
        for (int64_t k = 0; k < inner; ++k) {
          sum += static_cast<uint64_t>(Integer(a, a_by_columns ? k * rows + m : m * inner + k)) *
                 static_cast<uint64_t>(Integer(b, b_by_columns ? n * inner + k : k * columns + n));
        }
        EXPECT_EQ(Integer(y, m * columns + n), Stored(GetParam(), sum)) << m << ", " << n;
      }
    }
  }

  std::mt19937_64 random_{7};
};

INSTANTIATE_TEST_SUITE_P(DTypes, IntegerProducts, ::testing::ValuesIn(kIntegers),
                         [](const auto& dtype) { return std::string(Name(dtype.param)); });

TEST_P(IntegerProducts, OfMatricesVectorsAndBatches) {
  const HostTensor a = Any({3, 5}), b = Any({5, 4}), v = Any({5}), many = Any({2, 3, 5});
  const auto product = [](const HostTensor& x, const HostTensor& y) {
    return ComputedNode("op_type: 'MatMul'", {{"a", x}, {"b", y}})[0];
  };
  ExpectProducts(product(a, b), a, b, 3, 5, 4);
  ExpectProducts(product(a, v), a, v, 3, 5, 1);
  EXPECT_EQ(product(v, b).shape(), Shape({4}));
  ExpectProducts(product(v, b), v, b, 1, 5, 4);
  ExpectProducts(product(v, v), v, v, 1, 5, 1);
  EXPECT_EQ(product(many, b).shape(), Shape({2, 3, 4}));
  ExpectProducts(product(many, b), many, b, 6, 5, 4);
}

TEST_P(IntegerProducts, OfTransposedMatricesAndEquations) {
  const HostTensor a = Any({5, 3}), b = Any({4, 5}), c = Any({4});
  const std::vector<HostTensor> y = ComputedNode(
      "op_type: 'Gemm' attribute { name: 'transA' type: INT i: 1 } attribute { name: 'transB' "
      "type: INT i: 1 }",
      {{"a", a}, {"b", b}, {"c", c}});
  ASSERT_EQ(y.size(), 1u);
  ExpectProducts(y[0], a, b, 3, 5, 4, true, true, &c);
  const std::vector<HostTensor> z =
      ComputedNode("op_type: 'Einsum' attribute { name: 'equation' type: STRING s: 'km,nk->mn' }",
                   {{"a", a}, {"b", b}});
  ASSERT_EQ(z.size(), 1u);
  ExpectProducts(z[0], a, b, 3, 5, 4, true, true);
}

// Towards zero, as integers are divided.
TEST_P(IntegerProducts, MeansAndNormsHaveNoFraction) {
  const bool is_signed = GetParam() == DType::kInt32 || GetParam() == DType::kInt64;
  HostTensor x = HostTensor::Zeros(GetParam(), {4});
  for (int64_t i = 0; i < 4; ++i) x.Set(i, (is_signed ? -1.0 : 1.0) * std::array{7, 1, 3, 4}[i]);
  const auto reduced = [&](const char* type) {
    return Integer(ComputedNode(absl::StrCat("op_type: '", type, "'"), {{"x", x}})[0], 0);
  };
  EXPECT_EQ(reduced("ReduceMean"), is_signed ? -3 : 3);  // 15 / 4
  EXPECT_EQ(reduced("ReduceL2"), 8);                     // the root of 75
}

}  // namespace
}  // namespace ashlar::testing
