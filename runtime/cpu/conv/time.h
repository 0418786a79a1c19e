// Estimated times of convolution kernels, used if nothing was measured.
#ifndef ASHLAR_RUNTIME_CPU_CONV_TIME_H_
#define ASHLAR_RUNTIME_CPU_CONV_TIME_H_

#include "runtime/cpu/conv/conv_problem.h"
#include "runtime/cpu/conv/winograd.h"

namespace ashlar::cpu {

// Returns the time of F(m x m) relative to direct convolution, both on blocked images and one
// thread. So choices do not depend on the number of threads.
double WinogradTime(const ConvProblem& problem, int m);
// Returns the same without reading weights.
double WinogradArithmetic(const ConvProblem& problem, int m);

// Returns blockings for F(m x m), the fastest first. The last one needs no more workspace with many
// threads than with one.
std::vector<WinogradBlocking> WinogradBlockings(const ConvProblem& problem, int m);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_TIME_H_
