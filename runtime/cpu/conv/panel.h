// Direct convolution on blocked images: panels of packed weights against tiles of pixels, sums in
// registers, after Georganas et al. 2018, "Anatomy of High-Performance Deep Learning Convolutions
// on SIMD Architectures".
#ifndef ASHLAR_RUNTIME_CPU_CONV_PANEL_H_
#define ASHLAR_RUNTIME_CPU_CONV_PANEL_H_

#include <memory>

#include "runtime/cpu/conv/conv_problem.h"
#include "runtime/cpu/conv/tensors.h"

namespace ashlar::cpu {

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
// `filter_packing`. Input of 16 bits is widened to Float32 in workspace, once per thread and run.
// So results equal the Float32 results, rounded.
std::unique_ptr<PanelKernel> MakePanelConvolution(
    const ConvProblem& problem, const ConvStrides& strides, double relative_time,
    int64_t input_bytes, FilterPacking filter_packing = FilterPacking::kWhole);

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
