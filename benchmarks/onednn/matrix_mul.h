// Matrix products by oneDNN.
#ifndef ASHLAR_BENCHMARKS_ONEDNN_MATRIX_MUL_H_
#define ASHLAR_BENCHMARKS_ONEDNN_MATRIX_MUL_H_

#include "runtime/device/kernel.h"

namespace ashlar::onednn {

// Appends oneDNN's implementations of a MatrixMul on Float32, fastest first, without reference
// code. A constant B of rank 2 is packed for each of them.
absl::Status AddOneDnnMatrixMul(const KernelRequest& request, KernelList& kernels);

}  // namespace ashlar::onednn

#endif  // ASHLAR_BENCHMARKS_ONEDNN_MATRIX_MUL_H_
