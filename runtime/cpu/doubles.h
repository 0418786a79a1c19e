// Kernels of Float64 for operators whose other kernels are of floats: products, convolutions,
// poolings, normalisations. Row-major tensors; sums, products and functions are in double.
#ifndef ASHLAR_RUNTIME_CPU_DOUBLES_H_
#define ASHLAR_RUNTIME_CPU_DOUBLES_H_

#include "opr/batch_norm.h"
#include "opr/convolution.h"
#include "opr/lrn.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/softmax.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

absl::StatusOr<KernelList> DoubleBatchNorm(const BatchNorm& op, const KernelRequest& request);
absl::StatusOr<KernelList> DoubleConvolution(const ConvolutionForward& op,
                                             const KernelRequest& request);
absl::StatusOr<KernelList> DoubleLrn(const LRN& op, const KernelRequest& request);
absl::StatusOr<KernelList> DoubleMatrixMul(const MatrixMul& op, const KernelRequest& request);
absl::StatusOr<KernelList> DoublePooling(const PoolingForward& op, const KernelRequest& request);
absl::StatusOr<KernelList> DoubleSoftmax(const Softmax& op, const KernelRequest& request);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_DOUBLES_H_
