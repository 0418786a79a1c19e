// Products on the emulated cuBLASLt.
#include <gtest/gtest.h>

#include <random>
#include <set>

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
  EXPECT_GE(outcomes.size(), 3u);
}

}  // namespace
}  // namespace ashlar::testing
