// Estimated times of Winograd's kernels beside times that were measured once, relative to the
// direct kernel of the same layer.
#include "runtime/cpu/conv/time.h"

#include <gtest/gtest.h>

#include "runtime/device/processor.h"
#include "tests/support/status.h"

namespace ashlar::cpu {
namespace {

using ::ashlar::testing::Value;

// One thread of an otherwise idle AMD EPYC (Zen 4), AVX-512, the least of three interleaved runs.
struct WinogradLayer {
  int64_t batch, in_channels, out_channels, size;
  double measured4, measured3, measured2;  // of F(m x m)
};
constexpr WinogradLayer kWinogradLayers[] = {
    {1, 96, 24, 160, 0.436, 0.517, 0.700}, {1, 96, 24, 80, 0.355, 0.441, 0.619},
    {1, 96, 24, 40, 0.358, 0.484, 0.623},  {1, 24, 24, 160, 0.467, 0.584, 0.785},
    {1, 32, 32, 112, 0.399, 0.513, 0.697}, {1, 64, 64, 56, 0.330, 0.424, 0.585},
    {1, 64, 64, 112, 0.376, 0.462, 0.641}, {1, 16, 16, 160, 0.537, 0.672, 0.924},
    {1, 16, 16, 40, 0.540, 0.732, 0.935},  {1, 32, 64, 80, 0.365, 0.469, 0.649},
    {1, 64, 64, 20, 0.346, 0.469, 0.606},  {1, 48, 48, 80, 0.348, 0.443, 0.616},
    {4, 64, 128, 28, 0.330, 0.479, 0.577}, {1, 96, 16, 320, 0.469, 0.592, 0.772},
};

// Regression: images with few channels were expected to take 0.57 of the measured time.
TEST(WinogradTimeTest, IsNearTheMeasured) {
  for (const WinogradLayer& layer : kWinogradLayers) {
    ConvProblem problem;
    problem.src = {DType::kFloat32,
                   {layer.batch, layer.in_channels, layer.size, layer.size},
                   Format::kNCHW16c};
    problem.processor = Value(Processor::Parse("avx512/32K/1M"));
    problem.geometry.batch = layer.batch;
    problem.geometry.in_channels = layer.in_channels;
    problem.geometry.out_channels = layer.out_channels;
    for (WindowAxis* const axis : {&problem.geometry.h, &problem.geometry.w}) {
      axis->input = axis->output = layer.size;
    }
    for (const auto& [m, measured] :
         {std::pair(4, layer.measured4), {3, layer.measured3}, {2, layer.measured2}}) {
      SCOPED_TRACE(::testing::Message() << "F(" << m << " x " << m << ") of {" << layer.batch
                                        << ", " << layer.in_channels << ", " << layer.size << ", "
                                        << layer.size << "} to " << layer.out_channels);
      const double ratio = WinogradTime(problem, m) / measured;
      EXPECT_GT(ratio, 0.85);
      EXPECT_LT(ratio, 1.2);
    }
  }
}

}  // namespace
}  // namespace ashlar::cpu
