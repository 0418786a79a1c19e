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

inline ImageStrides InBytes(const ImageStrides& strides) {
  constexpr int64_t kFloat = sizeof(float);
  return {strides.n * kFloat, strides.c * kFloat, strides.h * kFloat, strides.w * kFloat};
}

// Whether the kernel below takes the problem: AVX2 or AVX-512, a row-major filter, blocked output
// and z, groups of whole blocks, of half a block or of one channel each (depthwise), and as input a
// blocked image, or a row-major one of few channels.
bool PanelConvolutionFits(const ConvProblem& problem);

// Bytes of input over which all panels pass before the next are read.
inline int64_t PanelInputBytes(const Processor& processor) { return 3 * processor.l2_bytes / 8; }

// A filter that is not constant is packed into workspace in each run.
class PanelKernel : public Kernel {
 public:
  virtual int64_t packed_bytes() const = 0;
  // Packs the weights that ConvProblem::weights names; rows and zeros are written in full.
  virtual void PackFilter(const float* filter, void* packed) const = 0;
  // `tensors.weights` are packed.
  virtual void RunPacked(const ConvTensors& tensors) const = 0;
};

// Sums are added in one order, whatever the number of threads and `input_bytes`.
std::unique_ptr<PanelKernel> MakePanelConvolution(const ConvProblem& problem,
                                                  const ConvStrides& strides, double relative_time,
                                                  int64_t input_bytes);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_PANEL_H_
