// How long convolution kernels are expected to take, where nothing was measured.
#ifndef ASHLAR_RUNTIME_CPU_CONV_TIME_H_
#define ASHLAR_RUNTIME_CPU_CONV_TIME_H_

#include "runtime/cpu/conv/conv.h"
#include "runtime/cpu/conv/winograd.h"

namespace ashlar::cpu {

// Time of F(m x m) over that of direct convolution, both on blocked images and one thread: what is
// chosen by it does not depend on the number of threads.
double WinogradTime(const ConvProblem& problem, int m);

// Blockings for F(m x m), the fastest first. The last takes as little workspace with any number of
// threads as with one.
std::vector<WinogradBlocking> WinogradBlockings(const ConvProblem& problem, int m);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_TIME_H_
