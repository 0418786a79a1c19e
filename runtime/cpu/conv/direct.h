// Direct convolution by the plain loops of its definition, vectorised over output channels. Takes
// all problems that the kernels on blocked images (panel.h) refuse.
#ifndef ASHLAR_RUNTIME_CPU_CONV_DIRECT_H_
#define ASHLAR_RUNTIME_CPU_CONV_DIRECT_H_

#include <memory>

#include "runtime/cpu/conv/conv_problem.h"

namespace ashlar::cpu {

// Takes any problem, in any format of input and output. Uses workspace only if the filter is not
// constant, to pack it in each run.
std::unique_ptr<Kernel> MakeDirectConvolution(const ConvProblem& problem);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_DIRECT_H_
