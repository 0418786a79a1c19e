// Products on the emulated cuBLASLt.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "opr/conv_bias.h"
#include "opr/matrix_mul.h"
#include "tests/cases/kernel_check.h"
#include "tests/emulated_gpu/tests/emulated_gpu.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// With many summands, so that it shows where sums of parts are rounded.
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
  // Two of those without workspace differ in the clusters of their blocks alone.
  EXPECT_GE(outcomes.size(), 4u);
}

// Convolutions with windows of 1x1 are products to those who ask for all candidates, with residual,
// bias and ReLU in the same call, over the residual too.
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

}  // namespace
}  // namespace ashlar::testing
