// All kernels of CUDA devices, with one registering function per operator family. Nothing here
// needs the toolkit: our own kernels are declared with their device code, and library kernels are
// passed in.
#ifndef ASHLAR_RUNTIME_CUDA_KERNELS_H_
#define ASHLAR_RUNTIME_CUDA_KERNELS_H_

#include <functional>
#include <vector>

#include "opr/matrix_mul_bias.h"
#include "runtime/device/kernel.h"

// A family is a file that registers the kernels of related operators, which share code.
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
  FAMILY(PoolingRows)                \
  FAMILY(Quantized)                  \
  FAMILY(Reduce)                     \
  FAMILY(Relayout)                   \
  FAMILY(ResizeBytes)                \
  FAMILY(RowWise)                    \
  FAMILY(TypeCvt)                    \
  FAMILY(Update)

namespace ashlar::cuda {

struct ConvProblem;  // conv/conv_problem.h

// The dtypes that most floating-point kernels take.
inline const std::vector<DType> kFloats = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

// The integers that kernels compute in 64 bits with a sign, which hold no Uint64.
inline const std::vector<DType> kIntegers = {DType::kInt64, DType::kInt32,  DType::kInt8,
                                             DType::kUint8, DType::kUint16, DType::kInt16,
                                             DType::kUint32};
// The dtypes in which kernels compute; others are only moved.
extern const std::vector<DType> kComputed;
// Returns Unimplemented if the dtype is none of kComputed.
absl::Status CheckComputed(absl::string_view what, DType dtype);

// A library's products of signed bytes.
struct ByteProducts {
  // Returns kernels for input 0 [m, k] times transposed input 1 [n, k], with Int32 sums [m, n].
  // Null, or an empty list, if the library has none.
  std::function<absl::StatusOr<KernelList>(int64_t m, int64_t n, int64_t k)> kernels;
  // Bytes of input 0 plus sums that fit in the device's cache.
  int64_t cached_bytes = 0;
};

// The functions that return libraries' kernels for a request, the fastest first; empty if there are
// none. Times are relative to the fastest in the list.
struct LibraryKernels {
  std::function<absl::StatusOr<KernelList>(const ConvProblem&)> convolution;
  // A MatrixMul is passed as a MatrixMulBias without ReLU.
  std::function<absl::StatusOr<KernelList>(const MatrixMulBiasParam&, const KernelRequest&)>
      matrix_mul;
  ByteProducts byte_products = {};
};

// Registers only our own kernels if `libraries` has no functions.
void RegisterKernels(KernelRegistry& registry, const LibraryKernels& libraries);

#define ASHLAR_FAMILY(Name) \
  void Register##Name##Kernels(KernelRegistry& registry, const LibraryKernels& libraries);
ASHLAR_CUDA_FAMILIES(ASHLAR_FAMILY)
#undef ASHLAR_FAMILY

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_KERNELS_H_
