#include "serialization/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/serialization/megengine/small_dump.h"

namespace ashlar {
namespace {

using nlohmann::ordered_json;
using testing::Value;

TEST(ChromeTraceTest, AnEventAnOperatorAndTheCounterOfLiveBytes) {
  const auto planned = testing::PlanAsRecorded(testing::SmallGraph());
  const std::vector<StepTime> steps = testing::SmallRecord(*planned).steps;
  const ordered_json trace = Value(ChromeTrace(*planned, steps));
  int executed = 0;
  double previous_end = 0, previous_count = 0;
  int64_t peak = 0, last = -1;
  for (const ordered_json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") {
      const int index = planned->schedule.order[std::lround(event["ts"].get<double>() / 1e3)];
      EXPECT_EQ(event["name"], planned->graph.node(index).name);
      EXPECT_EQ(event["cat"], std::string(planned->graph.node(index).op->type()));
      EXPECT_EQ(event["args"]["kernel"], planned->kernels[index]->implementation());
      EXPECT_NEAR(event["dur"].get<double>(), 1e3, 1e-6);
      EXPECT_GE(event["ts"].get<double>(), previous_end - 1e-6);
      previous_end = event["ts"].get<double>() + event["dur"].get<double>();
      ++executed;
    } else if (event["ph"] == "C") {
      EXPECT_GE(event["ts"].get<double>(), previous_count);
      previous_count = event["ts"].get<double>();
      last = event["args"]["arena"].get<int64_t>();
      peak = std::max(peak, last);
    }
  }
  const auto runs = [](const auto& kernel) { return kernel != nullptr; };
  EXPECT_EQ(executed, std::count_if(planned->kernels.begin(), planned->kernels.end(), runs));
  EXPECT_GT(executed, 1);
  EXPECT_EQ(peak, planned->plan.lower_bound);
  EXPECT_EQ(last, 0);
}

}  // namespace
}  // namespace ashlar
