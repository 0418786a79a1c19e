// All CPU kernels, with one registering function per operator family.
#ifndef ASHLAR_RUNTIME_CPU_KERNELS_H_
#define ASHLAR_RUNTIME_CPU_KERNELS_H_

#include "runtime/device/kernel.h"

// A family is a file that registers the kernels of related operators, which share code.
#define ASHLAR_CPU_FAMILIES(FAMILY) \
  FAMILY(Attention)                 \
  FAMILY(BatchNorm)                 \
  FAMILY(BatchNormTraining)         \
  FAMILY(Concat)                    \
  FAMILY(Convolution)               \
  FAMILY(ConvolutionBackwardData)   \
  FAMILY(ConvolutionBackwardFilter) \
  FAMILY(Counted)                   \
  FAMILY(CumSum)                    \
  FAMILY(Dropout)                   \
  FAMILY(GridSample)                \
  FAMILY(Indexing)                  \
  FAMILY(Loss)                      \
  FAMILY(Lrn)                       \
  FAMILY(MatrixMul)                 \
  FAMILY(Movement)                  \
  FAMILY(Order)                     \
  FAMILY(Pad)                       \
  FAMILY(Pointwise)                 \
  FAMILY(Pooling)                   \
  FAMILY(PoolingBackward)           \
  FAMILY(PoolingRows)               \
  FAMILY(Quantized)                 \
  FAMILY(Reduce)                    \
  FAMILY(Relayout)                  \
  FAMILY(Resize)                    \
  FAMILY(RowWise)                   \
  FAMILY(TypeCvt)                   \
  FAMILY(Update)

namespace ashlar::cpu {

void RegisterKernels(KernelRegistry& registry);

// Registers the expected cycles of all operators.
void RegisterWork(KernelRegistry& registry);

#define ASHLAR_FAMILY(Name) void Register##Name##Kernels(KernelRegistry& registry);
ASHLAR_CPU_FAMILIES(ASHLAR_FAMILY)
#undef ASHLAR_FAMILY

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_KERNELS_H_
