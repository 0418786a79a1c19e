// Measured speeds of this machine: whether they are plausible, not how high they are.
#include "runtime/cpu/measured_speeds.h"

#include <gtest/gtest.h>

#include "runtime/cpu/cpu_device.h"
#include "runtime/device/device.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"

namespace ashlar::cpu {
namespace {

using testing::Value;

// The bounds are wide enough for any current processor, and show whether work was left out or
// counted twice: 0.1 GB/s to 10 TB/s, and 0.1 GFLOP/s to 10 TFLOP/s.
TEST(MeasuredSpeeds, AreThoseOfAProcessor) {
  if (testing::kSanitized) GTEST_SKIP() << "measures the sanitizer";
  RegisterDevice();
  const Processor processor = Value(OpenDevice({CompNode::Type::kCpu, 0, 0}))->processor();
  for (const int threads : {1, 2}) {
    const MeasuredSpeeds speeds = Value(MeasureSpeeds(processor, threads));
    for (const double rate :
         {speeds.flops, speeds.second_level, speeds.third_level, speeds.memory}) {
      EXPECT_GT(rate, 1e5);
      EXPECT_LT(rate, 1e10);
    }
  }
}

}  // namespace
}  // namespace ashlar::cpu
