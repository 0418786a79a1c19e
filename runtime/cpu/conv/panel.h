// Direct convolution on blocked images: panels of packed weights against tiles of pixels, sums in
// registers, after Georganas et al. 2018, "Anatomy of High-Performance Deep Learning Convolutions
// on SIMD Architectures".
#ifndef ASHLAR_RUNTIME_CPU_CONV_PANEL_H_
#define ASHLAR_RUNTIME_CPU_CONV_PANEL_H_

#include <memory>

#include "runtime/cpu/conv/conv.h"
#include "runtime/cpu/conv/tensors.h"

namespace ashlar::cpu {

// The strides of a convolution's images. The output and z are blocked: 16 adjacent channels, and
// `c` is the step between blocks. So is the input, unless its type is row-major.
struct ConvStrides {
  explicit ConvStrides(const ConvProblem& problem);

  ImageStrides src, z, dst;
};

inline ImageStrides InBytes(const ImageStrides& strides, int64_t element = sizeof(float)) {
  return {strides.n * element, strides.c * element, strides.h * element, strides.w * element};
}

// Whether the kernel below takes the problem. It requires:
// - NEON, AVX2 or AVX-512;
// - a row-major filter, blocked output and z;
// - groups of whole blocks, of half a block, or of one channel each (depthwise);
// - an input that is blocked, or row-major with few channels.
// Images may be Float16 if the filter is constant.
bool PanelConvolutionFits(const ConvProblem& problem);

// Bytes of input that all panels process before the next part of the input is read.
inline int64_t PanelInputBytes(const Processor& processor) { return 3 * processor.l2_bytes / 8; }

// The ways to pack, in each run, a filter that is not constant.
enum class FilterPacking {
  kWhole,   // the whole filter into workspace, first
  kChunks,  // by chunks: each thread packs its next weights into its own workspace, which fits in
            // its second-level cache
};

class PanelKernel : public Kernel {
 public:
  virtual int64_t packed_bytes() const = 0;
  // Packs the weights of input ConvProblem::weights.
  virtual void PackFilter(const float* filter, void* packed) const = 0;
  // `tensors.weights` are packed. `workspace` has workspace_bytes(), which is 0 if the filter is
  // constant and the images are Float32.
  virtual void RunPacked(const ConvTensors& tensors, void* workspace = nullptr) const = 0;
  // `tensors.weights` are the original filter, which is not constant. `workspace` has
  // workspace_bytes().
  virtual void RunFilter(const ConvTensors& tensors, void* workspace) const = 0;
};

// The order of additions does not depend on the number of threads, `input_bytes` or
// `filter_packing`. Float16 input is widened to Float32 in workspace, once per thread and run. So
// results equal the Float32 results, rounded.
std::unique_ptr<PanelKernel> MakePanelConvolution(
    const ConvProblem& problem, const ConvStrides& strides, double relative_time,
    int64_t input_bytes, FilterPacking filter_packing = FilterPacking::kWhole);

// Returns the time of widening Float16 images, relative to the time of the sums. It is smaller for
// longer runs.
double WideningTime(const ConvProblem& problem, const ConvStrides& strides, int64_t input_bytes);

// The `input_bytes` for FilterPacking::kChunks: panels pass over the whole input, so weights are
// packed once. kChunks saves nothing if PackedWhole() is true, because the filter is small.
inline constexpr int64_t kWholeInput = int64_t{1} << 60;
// Estimated time relative to kWhole. Windows of one tap wait for the input.
inline double ChunksTime(const WindowAxes& windows) {
  return windows.h.window * windows.w.window == 1 ? 1.25 : 1.05;
}
inline bool PackedWhole(int64_t filter_bytes, const Processor& processor) {
  return filter_bytes <= processor.l2_bytes / 2;
}

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_PANEL_H_
