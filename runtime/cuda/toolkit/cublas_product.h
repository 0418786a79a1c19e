// Matrix products by cuBLASLt, with bias, addend and ReLU in the same call.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_CUBLAS_PRODUCT_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_CUBLAS_PRODUCT_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/toolkit/library_device.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

// The product [m, n] = A B for A [m, k] and B [k, n], or their transposes, row-major and
// contiguous. Sums are Float32. For Int8, sums and result are Int32, and nothing can be fused.
struct ProductSpec {
  DType dtype = DType::kFloat32;
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0;  // elements between matrices of a batch
  bool transposed_a = false, transposed_b = false;
  bool has_addend = false;  // [m, n], which may share the result's address
  bool has_bias = false;    // [n]
  bool relu = false;        // after both additions
  bool tf32 = false;        // rounds Float32 operands to TF32
};

// Returns a name such as "cublaslt+bias+relu".
std::string ProductName(const ProductSpec& spec);

// The pointers of one call; null for absent operands.
struct ProductOperands {
  const void *a = nullptr, *b = nullptr, *bias = nullptr, *addend = nullptr;
  void* result = nullptr;
  void* workspace = nullptr;
  Stream* stream = nullptr;  // a DeviceStream
};

// A product by one of the library's algorithms. Immutable and shared by sessions.
class CublasProduct {
 public:
  virtual ~CublasProduct() = default;
  virtual const std::string& name() const = 0;  // "cublaslt+bias:24{tile=20,...}"
  virtual int64_t workspace_bytes() const = 0;
  virtual double slowdown() const = 0;  // expected time relative to the first algorithm, minus 1
  virtual absl::StatusOr<std::unique_ptr<KernelState>> NewState() const = 0;
  virtual absl::Status Run(const ProductOperands& operands, KernelState* state) const = 0;
};

// Returns products by the algorithms that the library's heuristics name, with and without
// workspace, the best first; more if `all_candidates`. Empty if there is none. Requires a device.
absl::StatusOr<std::vector<std::unique_ptr<const CublasProduct>>> CublasProducts(
    const ProductSpec& spec, bool all_candidates, const LibraryDevice& device);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CUBLAS_PRODUCT_H_
