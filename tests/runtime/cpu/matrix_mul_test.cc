// Properties of MatrixMul's kernels. tests/cases/matrix_mul.cc checks their results.
#include "opr/matrix_mul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "graph/half.h"
#include "runtime/cpu/host_processor.h"
#include "runtime/cpu/kernels.h"
#include "tests/support/kernel_request.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::cpu {
namespace {

using testing::Value;

struct Product {
  HostTensor value;
  int64_t workspace_bytes = 0, packed_bytes = 0;  // 0: not packed
  std::string implementation;
};

// Returns the products by every kernel for the request. b may be stored as `stored`.
std::vector<Product> MultiplyByAll(const MatrixMul& op, const HostTensor& a, const HostTensor& b,
                                   bool constant, Isa isa, int threads,
                                   DType stored = DType::kFloat32) {
  KernelRequest request = Value(testing::RequestOf(op, {a, b}, {}, {false, constant}));
  request.exact_in = {DType::kFloat32, stored};
  request.processor.isa = isa;
  request.threads = threads;
  KernelRegistry registry;
  RegisterMatrixMulKernels(registry);
  const KernelList kernels = Value((*registry.Find(op.type()))(request));
  std::vector<Product> products;
  for (const std::unique_ptr<Kernel>& kernel : kernels) {
    const std::optional<Packing> packing = constant ? kernel->packing(1) : std::nullopt;
    std::vector<char> packed(packing ? packing->bytes : 0);
    if (packing) {
      EXPECT_TRUE(testing::IsOk(kernel->Pack(1, b, packed.data())));
    }
    Product product{HostTensor::Zeros(DType::kFloat32, request.outputs[0].shape),
                    kernel->workspace_bytes(), packing ? packing->bytes : 0,
                    kernel->implementation()};
    constexpr int64_t kBehind = 64;
    std::vector<char> workspace(product.workspace_bytes + kBehind, 0x5a);
    const void* inputs[] = {a.raw(), packing ? packed.data() : b.raw()};
    void* outputs[] = {product.value.mutable_raw()};
    EXPECT_TRUE(testing::IsOk(kernel->Run(
        {absl::MakeConstSpan(inputs), absl::MakeSpan(outputs), workspace.data()}, nullptr)));
    EXPECT_TRUE(std::all_of(workspace.end() - kBehind, workspace.end(),
                            [](char byte) { return byte == 0x5a; }));
    products.push_back(std::move(product));
  }
  return products;
}

Product Multiply(const MatrixMul& op, const HostTensor& a, const HostTensor& b, bool constant,
                 Isa isa, int threads) {
  return MultiplyByAll(op, a, b, constant, isa, threads).back();
}

class MatrixMulTest : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    // NEON's tiles are plain loops, which run on every processor.
    if (GetParam() != Isa::kNeon && !Contains(HostProcessor().isa, GetParam()))
      GTEST_SKIP() << "the processor has no " << Name(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Isas, MatrixMulTest, ::testing::ValuesIn(kIsas),
                         [](const auto& info) { return std::string(Name(info.param)); });

// A constant of 16-bit floats stays so, with half the bytes, and the results are the same to the
// bit. This holds for the loops over few rows and over many, and for columns after the last whole
// panel.
TEST_P(MatrixMulTest, HalvesGiveTheBitsOfFloats) {
  std::mt19937_64 random(3);
  for (const auto& [transposed, dtype] :
       {std::pair(false, DType::kFloat16), std::pair(true, DType::kFloat16),
        std::pair(false, DType::kBFloat16), std::pair(true, DType::kBFloat16)}) {
    SCOPED_TRACE(Name(dtype));
    MatrixMulParam param;
    param.transposeB = transposed;
    const MatrixMul op(param);
    for (const int64_t n : {1, 16, 33, 128, 200}) {
      const int64_t k = 3 * n + 171;
      HostTensor b = testing::RandomTensor(random, transposed ? Shape{n, k} : Shape{k, n}, -1, 1);
      for (int64_t i = 0; i < b.num_elements(); ++i) {
        const float value = static_cast<float>(b.At(i));
        b.Set(i, dtype == DType::kFloat16 ? HalfToFloat(FloatToHalf(value))
                                          : BFloat16ToFloat(FloatToBFloat16(value)));
      }
      for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 12, 13, 40}) {
        SCOPED_TRACE(::testing::Message() << m << " x " << k << " x " << n);
        const HostTensor a = testing::RandomTensor(random, {m, k}, -1, 1);
        for (const int threads : {1, 3}) {
          const Product floats = Multiply(op, a, b, true, GetParam(), threads);
          for (const Product& of_halves :
               MultiplyByAll(op, a, b, true, GetParam(), threads, dtype)) {
            EXPECT_EQ(of_halves.packed_bytes, k * n * 2);
            EXPECT_EQ(std::memcmp(of_halves.value.raw(), floats.value.raw(),
                                  static_cast<size_t>(floats.value.bytes())),
                      0);
          }
        }
      }
    }
  }
}

// Tiles, strips and batches of a graph have fewer rows; the results must not depend on that.
TEST_P(MatrixMulTest, ARowIsTheSameWhicheverOthersThereAre) {
  std::mt19937_64 random(1);
  constexpr int64_t kRows = 31, kDepth = 600, kColumns = 83;
  for (const bool transposed : {false, true}) {
    const MatrixMul op(MatrixMulParam{.transposeB = transposed});
    const HostTensor a = testing::RandomTensor(random, DType::kFloat32, {kRows, kDepth}, -1, 1);
    const HostTensor b = testing::RandomTensor(
        random, DType::kFloat32, transposed ? Shape{kColumns, kDepth} : Shape{kDepth, kColumns}, -1,
        1);
    for (const bool constant : {false, true}) {
      const HostTensor whole = Multiply(op, a, b, constant, GetParam(), 1).value;
      const HostTensor shared = Multiply(op, a, b, constant, GetParam(), 3).value;
      EXPECT_EQ(std::memcmp(shared.raw(), whole.raw(), whole.bytes()), 0);
      for (int64_t rows = 1; rows < kRows; ++rows) {
        SCOPED_TRACE(::testing::Message() << "rows " << rows << " transposed " << transposed
                                          << " constant " << constant);
        HostTensor part = HostTensor::Zeros(DType::kFloat32, {rows, kDepth});
        const int64_t first = kRows - rows;
        std::memcpy(part.mutable_raw(), a.data<float>().data() + first * kDepth, part.bytes());
        const HostTensor got = Multiply(op, part, b, constant, GetParam(), 2).value;
        ASSERT_EQ(
            std::memcmp(got.raw(), whole.data<float>().data() + first * kColumns, got.bytes()), 0);
      }
    }
  }
}

// Narrower tiles compute the last columns: half a panel, or the rest of one.
TEST_P(MatrixMulTest, AColumnIsTheSameWhicheverOthersThereAre) {
  std::mt19937_64 random(1);
  constexpr int64_t kRows = 29, kDepth = 300, kColumns = 83;
  const MatrixMul op{MatrixMulParam()};
  const HostTensor a = testing::RandomTensor(random, DType::kFloat32, {kRows, kDepth}, -1, 1);
  const HostTensor b = testing::RandomTensor(random, DType::kFloat32, {kDepth, kColumns}, -1, 1);
  for (const bool constant : {false, true}) {
    const HostTensor whole = Multiply(op, a, b, constant, GetParam(), 1).value;
    for (const int64_t columns : {1, 5, 8, 9, 16, 17, 32, 40, 48, 49, 64, 80}) {
      HostTensor part = HostTensor::Zeros(DType::kFloat32, {kDepth, columns});
      for (int64_t i = 0; i < kDepth * columns; ++i) {
        part.Set(i, b.At(i / columns * kColumns + i % columns));
      }
      const HostTensor got = Multiply(op, a, part, constant, GetParam(), 1).value;
      for (int64_t i = 0; i < kRows * columns; ++i) {
        ASSERT_EQ(got.At(i), whole.At(i / columns * kColumns + i % columns))
            << columns << " columns, constant " << constant << ", element " << i;
      }
    }
  }
}

TEST_P(MatrixMulTest, NeedsNoWorkspaceAndPacksWeightsIntoAsManyBytes) {
  std::mt19937_64 random(1);
  const HostTensor a = testing::RandomTensor(random, DType::kFloat32, {2, 7, 300}, -1, 1);
  for (const Shape& shape : {Shape{300, 45}, Shape{2, 300, 45}}) {
    const HostTensor b = testing::RandomTensor(random, DType::kFloat32, shape, -1, 1);
    for (const bool constant : {false, true}) {
      const Product product = Multiply(MatrixMul(MatrixMulParam()), a, b, constant, GetParam(), 2);
      EXPECT_EQ(product.workspace_bytes, 0);
      EXPECT_EQ(product.packed_bytes, constant ? b.bytes() : 0);
    }
  }
}

// Rows of A at a multiple of 4 KiB share few cache sets: they are packed if there is workspace.
TEST_P(MatrixMulTest, APackedAGivesTheSameBits) {
  std::mt19937_64 random(1);
  constexpr int64_t kRows = 281, kDepth = 1024, kColumns = 16 * 17 + 5;
  const HostTensor a = testing::RandomTensor(random, DType::kFloat32, {kRows, kDepth}, -1, 1);
  for (const bool transposed : {false, true}) {
    const MatrixMul op(MatrixMulParam{.transposeB = transposed});
    const HostTensor b = testing::RandomTensor(
        random, DType::kFloat32, transposed ? Shape{kColumns, kDepth} : Shape{kDepth, kColumns}, -1,
        1);
    for (const bool constant : {false, true}) {
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(::testing::Message() << "transposed " << transposed << " constant " << constant
                                          << " threads " << threads);
        const std::vector<Product> products =
            MultiplyByAll(op, a, b, constant, GetParam(), threads);
        ASSERT_EQ(products.size(), 2u);
        const Product &packed = products[0], &plain = products[1];
        EXPECT_TRUE(absl::StrContains(packed.implementation, "packed A"));
        EXPECT_GT(packed.workspace_bytes, 0);
        EXPECT_EQ(plain.workspace_bytes, 0);
        EXPECT_EQ(std::memcmp(packed.value.raw(), plain.value.raw(), plain.value.bytes()), 0);
      }
    }
  }
}

}  // namespace
}  // namespace ashlar::cpu
