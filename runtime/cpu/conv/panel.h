// Direct convolution on blocked images: panels of packed weights against tiles of pixels, sums in
// registers, after Georganas et al. 2018, "Anatomy of High-Performance Deep Learning Convolutions
// on SIMD Architectures".
#ifndef ASHLAR_RUNTIME_CPU_CONV_PANEL_H_
#define ASHLAR_RUNTIME_CPU_CONV_PANEL_H_

#include <memory>

#include "runtime/cpu/conv/conv.h"
#include "runtime/cpu/conv/tensors.h"

namespace ashlar::cpu {

// Where the images of a convolution lie. The output and z are blocked: 16 channels side by side,
// `c` from block to block; the input is too, unless its type is row-major.
struct ConvStrides {
  explicit ConvStrides(const ConvProblem& problem);

  ImageStrides src, z, dst;
};

inline ImageStrides InBytes(const ImageStrides& strides, int64_t element = sizeof(float)) {
  return {strides.n * element, strides.c * element, strides.h * element, strides.w * element};
}

// Whether the kernel below takes the problem: NEON, AVX2 or AVX-512, a row-major filter, blocked
// output and z, groups of whole blocks, of half a block or of one channel each (depthwise), and as
// input a blocked image, or a row-major one of few channels. All may be of Float16, where the
// filter is constant.
bool PanelConvolutionFits(const ConvProblem& problem);

// Bytes of input over which all panels pass before the next are read.
inline int64_t PanelInputBytes(const Processor& processor) { return 3 * processor.l2_bytes / 8; }

// How a filter that is not constant is packed in each run.
enum class FilterPacking {
  kWhole,   // all of it into workspace, first
  kChunks,  // the weights that a thread needs next into a workspace of its own, of a part of the
            // second-level cache
};

class PanelKernel : public Kernel {
 public:
  virtual int64_t packed_bytes() const = 0;
  // Packs the weights that ConvProblem::weights names.
  virtual void PackFilter(const float* filter, void* packed) const = 0;
  // `tensors.weights` are packed; `workspace` has workspace_bytes(), which are 0 where the filter
  // is constant and the images are of floats.
  virtual void RunPacked(const ConvTensors& tensors, void* workspace = nullptr) const = 0;
  // `tensors.weights` are the filter as it is given, which is not constant; `workspace` has
  // workspace_bytes().
  virtual void RunFilter(const ConvTensors& tensors, void* workspace) const = 0;
};

// Sums are added in one order, whatever the number of threads, `input_bytes` and `filter_packing`.
// What a run reads of an image of Float16 is widened to floats in workspace, once a thread and run:
// results are those of the floats, rounded.
std::unique_ptr<PanelKernel> MakePanelConvolution(
    const ConvProblem& problem, const ConvStrides& strides, double relative_time,
    int64_t input_bytes, FilterPacking filter_packing = FilterPacking::kWhole);

// The work of a convolution of images of Float16 beside that of its sums, over the latter: less
// where runs are longer.
double WideningTime(const ConvProblem& problem, const ConvStrides& strides, int64_t input_bytes);

// The input of FilterPacking::kChunks, where panels pass over all of it: their weights are then
// packed once. Nothing is gained where PackedWhole() is true: the filter is small.
inline constexpr int64_t kWholeInput = int64_t{1} << 60;
// The time expected, of that of kWhole: windows of one tap wait for the input.
inline double ChunksTime(const WindowAxes& windows) {
  return windows.h.window * windows.w.window == 1 ? 1.25 : 1.05;
}
inline bool PackedWhole(int64_t filter_bytes, const Processor& processor) {
  return filter_bytes <= processor.l2_bytes / 2;
}

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_PANEL_H_
