// GridSample: finds the pixels and weights of a row of points once for all channels.
#include "opr/grid_sample.h"

#include <algorithm>

#include "graph/status.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kPoints = 64;  // processed together
constexpr int kMostTaps = GridPoint::kMost;

// The taps of each point: offsets in a plane, and weights.
struct SampleTaps {
  int count = 0;
  int32_t offset[kMostTaps][kPoints];
  float weight[kMostTaps][kPoints];
};

void FindTaps(const GridSampleParam& param, const float* grid, int64_t points,
              absl::Span<const int64_t> size, SampleTaps& taps) {
  for (int64_t i = 0; i < points; ++i) {
    const GridPoint point = GridPointAt(param, grid + static_cast<int64_t>(size.size()) * i, size);
    taps.count = point.count;
    for (int t = 0; t < point.count; ++t) {
      taps.offset[t][i] = static_cast<int32_t>(point.offset[t]);
      taps.weight[t][i] = static_cast<float>(point.weight[t]);
    }
  }
}

// An element of weight 0 may have any value, even NaN.
void SamplePlane(const SampleTaps& taps, const float* plane, int64_t points, float* to) {
  float sums[kPoints] = {};
  for (int t = 0; t < taps.count; ++t) {
#pragma omp simd
    for (int64_t i = 0; i < points; ++i) {
      const float term = taps.weight[t][i] * plane[taps.offset[t][i]];
      sums[i] += taps.weight[t][i] == 0 ? 0 : term;
    }
  }
  std::copy_n(sums, points, to);
}

absl::StatusOr<KernelList> MakeGridSample(const GridSample& op, const KernelRequest& request) {
  const GridSampleParam param = op.param();
  const Shape x = request.inputs[0].shape, grid = request.inputs[1].shape;
  const std::vector<int64_t> size(x.dims().begin() + 2, x.dims().end());
  int64_t points = 1, plane = 1;
  for (size_t axis = 0; axis < size.size(); ++axis) {
    points *= grid[static_cast<int>(axis) + 1];
    plane *= size[axis];
  }
  if (plane > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError(
        absl::StrCat("GridSample of planes of ", plane, " pixels, which is more than 2^31 - 1"));
  }
  const auto axes = static_cast<int64_t>(size.size());
  const int64_t groups = (points + kPoints - 1) / kPoints;
  const int threads = request.threads;
  const auto sample = NarrowVersions<SamplePlane>::For(request.processor.isa);
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / 4 / (kPoints * x[1]));
  return OnlyKernel(
      absl::StrCat("grid_sample:", Name(request.processor.isa)), [=](const KernelArgs& args) {
        const float* const images = args.Input<float>(0);
        const float* const grids = args.Input<float>(1);
        float* const to = args.Output<float>(0);
        ParallelFor(threads, x[0] * groups, grain, [&](int64_t begin, int64_t end) {
          SampleTaps taps;
          for (int64_t i = begin; i < end; ++i) {
            const int64_t n = i / groups, first = i % groups * kPoints;
            const int64_t count = std::min(kPoints, points - first);
            FindTaps(param, grids + (n * points + first) * axes, count, size, taps);
            for (int64_t c = 0; c < x[1]; ++c) {
              const int64_t image = n * x[1] + c;
              sample(taps, images + image * plane, count, to + image * points + first);
            }
          }
        });
      });
}

}  // namespace

void RegisterGridSampleKernels(KernelRegistry& registry) {
  registry.Register<GridSample>(MakeGridSample, {DType::kFloat32});
}

}  // namespace ashlar::cpu
