#include "opr/dropout.h"

#include <gtest/gtest.h>

#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Returns ones after dropout.
HostTensor Dropped(DropoutParam param, int64_t step, int64_t elements) {
  HostTensor x = HostTensor::Zeros(DType::kFloat32, {elements});
  for (int64_t i = 0; i < elements; ++i) x.Set(i, 1);
  return Evaluate(Dropout(param), {x, Int64Vector({step})});
}

int64_t Zeros(const HostTensor& tensor) {
  int64_t zeros = 0;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) zeros += tensor.At(i) == 0;
  return zeros;
}

TEST(Dropout, ZeroesTheShareThatItSaysAndKeepsTheMean) {
  constexpr int64_t kElements = 100000;
  for (const double probability : {0.0, 0.1, 0.5, 0.9}) {
    const HostTensor y = Dropped({probability, 3}, 7, kElements);
    EXPECT_NEAR(static_cast<double>(Zeros(y)) / kElements, probability, 0.006) << probability;
    for (int64_t i = 0; i < kElements; ++i) {
      if (y.At(i) != 0) {
        EXPECT_NEAR(y.At(i), 1 / (1 - probability), 1e-6);
      }
    }
  }
}

// Training continued from a checkpoint gets the same masks.
TEST(Dropout, MasksAreThoseOfTheirSeedAndStepForEver) {
  const HostTensor y = Dropped({0.5, 1}, 2, 16);
  EXPECT_TRUE(Near(y, {2, 2, 2, 2, 2, 0, 2, 0, 0, 2, 2, 2, 2, 0, 2, 0}, 0));
}

TEST(Dropout, StepsAndSeedsHaveMasksOfTheirOwn) {
  constexpr int64_t kElements = 10000;
  const HostTensor y = Dropped({0.5, 1}, 1, kElements);
  for (const auto& [seed, step] : {std::pair<int64_t, int64_t>{1, 2}, {2, 1}, {1, -1}, {-1, 1}}) {
    const HostTensor other = Dropped({0.5, seed}, step, kElements);
    int64_t equal = 0;
    for (int64_t i = 0; i < kElements; ++i) equal += y.At(i) == other.At(i);
    EXPECT_NEAR(static_cast<double>(equal) / kElements, 0.5, 0.02) << seed << " " << step;
  }
}

TEST(Dropout, RefusesWhatIsNoProbability) {
  for (const double probability : {-0.1, 1.0, 2.0}) {
    const std::vector<InputInfo> inputs = {{{DType::kFloat32, {3}}}, {{DType::kInt64, {1}}}};
    EXPECT_EQ(Dropout({probability, 0}).Infer(inputs).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace ashlar::testing
