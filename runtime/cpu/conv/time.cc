// Times are in steps of the innermost loop: one pixel, one input channel, 16 output channels. The
// constants of direct convolutions and of weights in memory come from ResNet-50's layers at batch 1
// and 10, and Winograd's from 14 shapes whose weights stay in the second-level cache, both on an
// AMD EPYC (Zen 4). The formulas are within 15 to 20 % of the times measured there.
#include "runtime/cpu/conv/time.h"

#include <algorithm>

#include "graph/region.h"

namespace ashlar::cpu {
namespace {

constexpr double kWeightBytesPerStep = 7;    // read from memory meanwhile
constexpr double kWeightBytesWorthStep = 8;  // larger weights must justify their memory
constexpr double kProductStep = 1.1;         // of a product of transformed values
constexpr int64_t kFewPatches = 10;          // for little workspace
constexpr int64_t kPatchesAlone = 8;         // enough for one thread's step
constexpr int64_t kMostPatches = 256;

// Steps of F(m x m) by block of channels: for each place of a patch, its sums and its transformed
// input; for each pixel of the output; for each pixel of an input beyond the second-level cache.
constexpr double kSums = 4.8, kTransformed = 8.9, kOutputPixel = 5, kFarInputPixel = 3.3;

int64_t Patches(const ConvolutionGeometry& geometry, int m) {
  return geometry.batch * CeilDivide(geometry.h.output, m) * CeilDivide(geometry.w.output, m);
}

double WinogradWeights(const ConvolutionGeometry& geometry, int m) {
  return static_cast<double>((m + 2) * (m + 2) * ChannelBlocks(geometry.in_channels) *
                             ChannelBlocks(geometry.out_channels) * kChannelBlock * kChannelBlock *
                             static_cast<int64_t>(sizeof(float)));
}

// Whether weights or an image stay in the second-level cache.
bool AreSmall(double bytes, const Processor& processor) {
  return bytes <= static_cast<double>(processor.l2_bytes);
}

// Returns the number of patches to process together. Few patches leave the second-level cache to
// the weights, if they fit; many patches read large weights less often.
int64_t WantedPatches(const ConvProblem& problem, int m) {
  const ConvolutionGeometry& geometry = problem.geometry;
  const int64_t wanted = AreSmall(WinogradWeights(geometry, m), problem.processor) ? 14 : 49;
  return std::min(wanted, Patches(geometry, m));
}

double ChannelSteps(const ConvolutionGeometry& geometry) {
  return static_cast<double>(geometry.in_channels * ChannelBlocks(geometry.out_channels));
}

// Returns the steps of direct convolution.
double DirectSteps(const ConvolutionGeometry& geometry) {
  return 9 * ChannelSteps(geometry) *
         static_cast<double>(geometry.batch * geometry.h.output * geometry.w.output);
}

// Returns the bytes of the weights of one tap.
double Weights(const ConvolutionGeometry& geometry) {
  return ChannelSteps(geometry) * kChannelBlock * sizeof(float);
}

struct WinogradSteps {
  double products = 0, transforms = 0;
};

WinogradSteps StepsOf(const ConvProblem& problem, int m) {
  const ConvolutionGeometry& geometry = problem.geometry;
  const double in_blocks = static_cast<double>(ChannelBlocks(geometry.in_channels));
  const double out_blocks = static_cast<double>(ChannelBlocks(geometry.out_channels));
  const double patches = static_cast<double>(Patches(geometry, m));
  const double places = (m + 2) * (m + 2) * patches;
  const bool far = !AreSmall(static_cast<double>(problem.src.bytes()), problem.processor);
  return {
      places * (ChannelSteps(geometry) * kProductStep + out_blocks * kSums),
      places * in_blocks * kTransformed +
          m * m * patches * (out_blocks * kOutputPixel + (far ? in_blocks * kFarInputPixel : 0))};
}

}  // namespace

double WinogradTime(const ConvProblem& problem, int m) {
  const ConvolutionGeometry& geometry = problem.geometry;
  const double steps = DirectSteps(geometry);
  const double weights = Weights(geometry);
  const double direct =
      std::max(steps, 9 * weights / kWeightBytesPerStep) + 9 * weights / kWeightBytesWorthStep;
  const double all_weights = WinogradWeights(geometry, m);
  const double passes = AreSmall(all_weights, problem.processor)
                            ? 1
                            : static_cast<double>(Patches(geometry, m)) /
                                  static_cast<double>(WantedPatches(problem, m));
  const WinogradSteps winograd = StepsOf(problem, m);
  return (std::max(winograd.products, all_weights * passes / kWeightBytesPerStep) +
          winograd.transforms + all_weights / kWeightBytesWorthStep) /
         direct;
}

double WinogradArithmetic(const ConvProblem& problem, int m) {
  const WinogradSteps winograd = StepsOf(problem, m);
  return (winograd.products + winograd.transforms) / DirectSteps(problem.geometry);
}

std::vector<WinogradBlocking> WinogradBlockings(const ConvProblem& problem, int m) {
  const int64_t patches = Patches(problem.geometry, m);
  const int64_t wanted = WantedPatches(problem, m), steps = CeilDivide(patches, wanted);
  const int64_t least = std::min(kFewPatches, patches);
  const int threads = problem.threads;
  if (threads == 1) return {{wanted, false}, {least, false}};
  // Threads that share patches transform them by blocks of channels, which may be too few.
  const int64_t blocks = std::min(ChannelBlocks(problem.geometry.in_channels),
                                  ChannelBlocks(problem.geometry.out_channels));
  const bool idle = blocks < threads && patches >= kPatchesAlone * threads;
  if (steps < 4 * threads && !idle) {
    return {{std::min(kMostPatches, patches), true}, {least, true}};
  }
  const int64_t even_steps = RoundUp(steps, threads);
  return {{CeilDivide(patches, even_steps), false}, {least, false}, {least, true}};
}

}  // namespace ashlar::cpu
