// All kernels of CUDA devices; one registering function an operator family. What is here needs no
// toolkit: our own kernels are declared with their device code, those of libraries come from
// outside.
#ifndef ASHLAR_RUNTIME_CUDA_KERNELS_H_
#define ASHLAR_RUNTIME_CUDA_KERNELS_H_

#include <functional>
#include <vector>

#include "opr/matrix_mul_bias.h"
#include "runtime/device/kernel.h"

// A family is a file that registers the kernels of operators which share code.
#define ASHLAR_CUDA_FAMILIES(FAMILY) \
  FAMILY(BatchNorm)                  \
  FAMILY(Concat)                     \
  FAMILY(Convolution)                \
  FAMILY(CumSum)                     \
  FAMILY(Dropout)                    \
  FAMILY(GridSample)                 \
  FAMILY(Indexing)                   \
  FAMILY(Lrn)                        \
  FAMILY(MatrixMul)                  \
  FAMILY(Movement)                   \
  FAMILY(Order)                      \
  FAMILY(Pointwise)                  \
  FAMILY(Pooling)                    \
  FAMILY(PoolingBackward)            \
  FAMILY(Quantized)                  \
  FAMILY(Reduce)                     \
  FAMILY(Relayout)                   \
  FAMILY(RowWise)                    \
  FAMILY(TypeCvt)                    \
  FAMILY(Update)

namespace ashlar::cuda {

struct ConvProblem;  // conv/conv.h

// The dtypes that most kernels of floats take.
inline const std::vector<DType> kFloats = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

// Products of signed bytes by a library.
struct ByteProducts {
  // The kernels for input 0 [m, k] times input 1 [n, k], transposed, with sums [m, n] of Int32.
  // Null, or an empty list, where it has none.
  std::function<absl::StatusOr<KernelList>(int64_t m, int64_t n, int64_t k)> kernels;
  // Bytes of input 0 and sums that the device's cache has room for.
  int64_t cached_bytes = 0;
};

// The kernels of libraries for a request, the fastest first; empty where they have none. Times are
// relative to the fastest in the list.
struct LibraryKernels {
  std::function<absl::StatusOr<KernelList>(const ConvProblem&)> convolution;
  // A MatrixMul is asked for as a MatrixMulBias without ReLU.
  std::function<absl::StatusOr<KernelList>(const MatrixMulBiasParam&, const KernelRequest&)>
      matrix_mul;
  ByteProducts byte_products = {};
};

// Without library functions there are only kernels of our own.
void RegisterKernels(KernelRegistry& registry, const LibraryKernels& libraries);

#define ASHLAR_FAMILY(Name) \
  void Register##Name##Kernels(KernelRegistry& registry, const LibraryKernels& libraries);
ASHLAR_CUDA_FAMILIES(ASHLAR_FAMILY)
#undef ASHLAR_FAMILY

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_KERNELS_H_
