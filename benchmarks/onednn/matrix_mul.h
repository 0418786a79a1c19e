// Products of matrices by oneDNN.
#ifndef ASHLAR_BENCHMARKS_ONEDNN_MATRIX_MUL_H_
#define ASHLAR_BENCHMARKS_ONEDNN_MATRIX_MUL_H_

#include "runtime/device/kernel.h"

namespace ashlar::onednn {

// Appends oneDNN's implementations of a MatrixMul on Float32, fastest first, none of its reference
// code. A constant B of rank 2 is packed as each wants it.
absl::Status AddOneDnnMatrixMul(const KernelRequest& request, KernelList& kernels);

}  // namespace ashlar::onednn

#endif  // ASHLAR_BENCHMARKS_ONEDNN_MATRIX_MUL_H_
