// Winograd's convolution F(m x m, 3 x 3) on blocked images (Lavin and Gray 2016, "Fast Algorithms
// for Convolutional Neural Networks"). It needs fewer multiplications, but workspace and larger
// weights.
#ifndef ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_H_
#define ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_H_

#include <memory>

#include "runtime/cpu/conv/conv_problem.h"
#include "runtime/cpu/conv/panel.h"

namespace ashlar::cpu {

// The way in which patches of m x m output pixels pass through the three phases (input transform,
// products, output transform). Results do not depend on it.
struct WinogradBlocking {
  int64_t patches = 14;  // processed together
  // All threads share the same patches. Otherwise each thread has its own patches and workspace.
  bool together = false;
};

// Whether the kernel below takes the problem. It requires NEON, AVX2 or AVX-512, 3x3 windows at
// stride 1 without dilation, one group, a constant row-major filter and blocked images.
bool WinogradConvolutionFits(const ConvProblem& problem);

// `m` is 2, 3 or 4.
std::unique_ptr<Kernel> MakeWinogradConvolution(const ConvProblem& problem,
                                                const ConvStrides& strides, int m,
                                                const WinogradBlocking& blocking,
                                                double relative_time, double relative_arithmetic);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_H_
