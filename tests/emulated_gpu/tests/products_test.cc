// Matrix products on the emulated cuBLASLt.
#include <cublasLt.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "opr/conv_bias.h"
#include "opr/matrix_mul.h"
#include "tests/cases/cases.h"
#include "tests/cases/kernel_check.h"
#include "tests/emulated_gpu/tests/emulated_gpu.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Has many summands, so that rounded sums of slices show.
KernelCase LongProduct(DType dtype) {
  std::mt19937_64 random(31);
  return {.name = "long product",
          .op = std::make_shared<const MatrixMul>(MatrixMulParam()),
          .inputs = {RandomTensor(random, dtype, {8, 1024}, -1, 1),
                     RandomTensor(random, dtype, {1024, 8}, -1, 1)}};
}

TEST(EmulatedProducts, SumsAreInFloat32) {
  for (const auto& [dtype, rounding] :
       {std::pair(DType::kFloat16, 0x1p-11), std::pair(DType::kBFloat16, 0x1p-8)}) {
    KernelCase test = LongProduct(dtype);
    test.gpu_tolerance = rounding * 1.01;  // once, at the end
    CheckKernels(OpenEmulated(), test);
  }
}

TEST(EmulatedProducts, AlgorithmsHaveNamesOfTheirOwn) {
  KernelCase test = LongProduct(DType::kFloat32);
  test.policy.all_candidates = true;
  const std::vector<KernelOutcome> outcomes = CheckKernels(OpenEmulated(), test);
  std::set<std::string> different;
  for (const KernelOutcome& outcome : outcomes) different.insert(outcome.implementation);
  EXPECT_EQ(different.size(), outcomes.size());
  // Two candidates without workspace differ only in the clusters of their blocks.
  EXPECT_GE(outcomes.size(), 4u);
}

// If all candidates are requested, 1x1 convolutions run as products. Residual, bias and ReLU are in
// the same call; the output may overwrite the residual.
TEST(EmulatedProducts, ConvolutionsOf1x1AreProducts) {
  std::mt19937_64 random(32);
  for (const bool relu : {false, true}) {
    for (const bool has_z : {false, true}) {
      ConvBiasParam param;
      if (relu) param.nonlineMode = ScalarFunction::kRelu;
      KernelCase test = {
          .name = "1x1",
          .op = std::make_shared<const ConvBiasForward>(param),
          .inputs = {RandomTensor(random, {2, 16, 5, 3}), RandomTensor(random, {8, 16, 1, 1}),
                     RandomTensor(random, {1, 8, 1, 1})}};
      test.formats = {Format::kNHWC, Format::kDefault, Format::kDefault};
      test.constant = {false, true, true};
      if (has_z) {
        test.inputs.push_back(RandomTensor(random, {2, 8, 5, 3}));
        test.formats.push_back(Format::kNHWC);
        test.constant.push_back(false);
        test.in_place = 3;
      }
      test.output_format = Format::kNHWC;
      const std::string name =
          absl::StrCat("cublaslt", has_z ? "+z" : "", "+bias", relu ? "+relu:" : ":");
      for (const bool all : {false, true}) {
        test.policy.all_candidates = all;
        SCOPED_TRACE(absl::StrCat(name, all ? " all" : ""));
        const std::vector<KernelOutcome> outcomes = CheckKernels(OpenEmulated(), test);
        const auto products =
            std::count_if(outcomes.begin(), outcomes.end(), [&](const KernelOutcome& outcome) {
              return absl::StartsWith(outcome.implementation, name);
            });
        EXPECT_EQ(products > 0, all);
      }
    }
  }
}

// If all candidates are requested, 8-bit convolutions run as products of signed bytes if channels
// come in fours. They give the bits of our own kernel.
TEST(EmulatedProducts, ConvolutionsOf8BitsAreProductsWhereChannelsAreInFours) {
  int number = 0, refused = 0;
  std::map<std::string, int> by_kind;
  Cases cases(GpuScope(/*emulated=*/true), 33, [&](const KernelCase& test) {
    if (!IsQuantized(test.inputs[0].dtype())) return;
    const Shape& filter = test.inputs[ConvBiasForward::kFilter].shape();
    const int rank = filter.rank();
    const bool pointwise = filter[rank - 2] * filter[rank - 1] == 1;
    // Tries a share of the others: nine in a row are alike.
    if (!pointwise && number++ % 13 != 0) return;
    KernelCase all = test;
    all.policy.all_candidates = true;
    const std::vector<KernelOutcome> outcomes = CheckKernels(OpenEmulated(), all);
    ASSERT_FALSE(outcomes.empty());
    EXPECT_TRUE(absl::StartsWith(outcomes[0].implementation, "int8:direct"));
    const Shape output = Value(test.op->Evaluate(test.inputs))[0].shape();
    const bool takes = (rank == 4 || filter[0] == 1) && filter[rank - 4] % 4 == 0 &&
                       filter[rank - 3] % 4 == 0 && test.constant[1] &&
                       (test.output_format == Format::kNHWC || output[2] * output[3] == 1);
    ASSERT_EQ(outcomes.size() > 1, takes) << test.name;
    if (!takes) return void(++refused);
    const bool parts = absl::StrContains(outcomes[1].implementation, " parts");
    ++by_kind[absl::StrCat(outcomes[1].implementation.substr(0, 13), parts ? " in parts" : "")];
    EXPECT_TRUE(by_kind.size() > 1 || CheckKernels(OpenEmulated(), test).size() == 1);
  });
  AddCases<ConvBiasForward>(cases);
  EXPECT_GT(refused, 0);
  for (const char* kind : {"int8:cublaslt in parts", "int8:windows+", "int8:windows+ in parts"}) {
    EXPECT_GT(by_kind[kind], 0) << kind;
  }
}

// A function of the emulated library, which this program does not link.
#define ASHLAR_LT(function) reinterpret_cast<decltype(&function)>(EmulatedFunction(#function))

// Products of integers as cublasLtMatmul's documentation allows them, and one step beyond each
// condition.
TEST(EmulatedProducts, OfIntegersTheHeuristicsKnowWhatTheDocumentationNames) {
  struct Asked {
    const char* what;
    bool taken;
    uint64_t rows = 8, columns = 5, inner = 12;
    cublasOperation_t of_a = CUBLAS_OP_T, of_b = CUBLAS_OP_N;
    int64_t more = 0;  // from one column of A to the next
    uint32_t alignment = 16;
  };
  cublasLtHandle_t handle;
  ASSERT_EQ(ASHLAR_LT(cublasLtCreate)(&handle), CUBLAS_STATUS_SUCCESS);
  for (const Asked& asked :
       {Asked{"documented", true}, Asked{"rows", false, 6}, Asked{"inner", false, 8, 5, 10},
        Asked{"A as it is", false, 8, 5, 12, CUBLAS_OP_N},
        Asked{"B transposed", false, 8, 4, 12, CUBLAS_OP_T, CUBLAS_OP_T},
        Asked{"leading dimension", false, 8, 5, 12, CUBLAS_OP_T, CUBLAS_OP_N, 2},
        Asked{"addresses", false, 8, 5, 12, CUBLAS_OP_T, CUBLAS_OP_N, 0, 2}}) {
    SCOPED_TRACE(asked.what);
    cublasLtMatmulDesc_t operation;
    ASHLAR_LT(cublasLtMatmulDescCreate)(&operation, CUBLAS_COMPUTE_32I, CUDA_R_32I);
    const auto set = ASHLAR_LT(cublasLtMatmulDescSetAttribute);
    set(operation, CUBLASLT_MATMUL_DESC_TRANSA, &asked.of_a, sizeof(asked.of_a));
    set(operation, CUBLASLT_MATMUL_DESC_TRANSB, &asked.of_b, sizeof(asked.of_b));
    cublasLtMatrixLayout_t layouts[3];
    const auto lay_out = [&](int i, cudaDataType type, uint64_t rows, uint64_t columns,
                             bool transposed, int64_t more) {
      if (transposed) std::swap(rows, columns);
      ASHLAR_LT(cublasLtMatrixLayoutCreate)
      (&layouts[i], type, rows, columns, static_cast<int64_t>(rows) + more);
    };
    lay_out(0, CUDA_R_8I, asked.rows, asked.inner, asked.of_a == CUBLAS_OP_T, asked.more);
    lay_out(1, CUDA_R_8I, asked.inner, asked.columns, asked.of_b == CUBLAS_OP_T, 0);
    lay_out(2, CUDA_R_32I, asked.rows, asked.columns, false, 0);
    cublasLtMatmulPreference_t preference;
    ASHLAR_LT(cublasLtMatmulPreferenceCreate)(&preference);
    ASHLAR_LT(cublasLtMatmulPreferenceSetAttribute)
    (preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &asked.alignment, sizeof(uint32_t));
    cublasLtMatmulHeuristicResult_t result;
    int count = 0;
    const cublasStatus_t status = ASHLAR_LT(cublasLtMatmulAlgoGetHeuristic)(
        handle, operation, layouts[0], layouts[1], layouts[2], layouts[2], preference, 1, &result,
        &count);
    EXPECT_EQ(status, asked.taken ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(count, asked.taken ? 1 : 0);
    for (cublasLtMatrixLayout_t layout : layouts) ASHLAR_LT(cublasLtMatrixLayoutDestroy)(layout);
    ASHLAR_LT(cublasLtMatmulDescDestroy)(operation);
    ASHLAR_LT(cublasLtMatmulPreferenceDestroy)(preference);
  }
  ASHLAR_LT(cublasLtDestroy)(handle);
}

}  // namespace
}  // namespace ashlar::testing
