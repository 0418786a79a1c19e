// The comparison of a plan's values by verify.
#include "tools/plan_values.h"

#include <gmock/gmock.h>

#include "tests/support/tensors.h"

namespace ashlar {
namespace {

using ::testing::HasSubstr;

HostTensor Integers(std::vector<int64_t> values) {
  return HostTensor::FromValues<int64_t>(DType::kInt64, {static_cast<int64_t>(values.size())},
                                         values);
}

TEST(PlanValuesTest, OneOutputThatDiffersIsSaid) {
  PlanValues values;
  values.against = "the reference on the host";
  const HostTensor right = Integers({1, 2, 3});
  values.outputs.push_back({"a", Compare(right, right, {})});
  EXPECT_TRUE(values.ok());
  values.outputs.push_back({"b", Compare(Integers({1, 2, 40}), right, {})});
  EXPECT_FALSE(values.ok());
  EXPECT_THAT(values.ToText(), HasSubstr("(b): DIFFERS"));
  EXPECT_EQ(values.ToJson()["ok"], false);
}

// These differ by less than doubles can express.
TEST(PlanValuesTest, IntegersAreComparedExactly) {
  constexpr int64_t kLarge = int64_t{1} << 53;
  const Tolerance exact = {.atol = 0, .rtol = 0};
  EXPECT_FALSE(Compare(Integers({kLarge + 1}), Integers({kLarge}), exact).ok);
  EXPECT_EQ(Compare(Integers({kLarge + 1}), Integers({kLarge}), exact).max_abs, 1);
  EXPECT_TRUE(Compare(Integers({kLarge + 1}), Integers({kLarge + 1}), exact).ok);
}

}  // namespace
}  // namespace ashlar
