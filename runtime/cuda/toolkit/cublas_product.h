// Products of matrices on cuBLASLt, with what may follow them in the same call.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_CUBLAS_PRODUCT_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_CUBLAS_PRODUCT_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/toolkit/library_device.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

// [m, n] = A B, A of [m, k], B of [k, n], or of these transposed; row-major, one behind the other.
// Sums are in Float32. Of Int8 they are Int32, as is the result; there is nothing behind them.
struct ProductSpec {
  DType dtype = DType::kFloat32;
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0;  // elements from one matrix of a batch to the next
  bool transposed_a = false, transposed_b = false;
  bool has_addend = false;  // [m, n], which may lie where the result does
  bool has_bias = false;    // [n]
  bool relu = false;        // behind both
  bool tf32 = false;        // operands of Float32 rounded
};

// "cublaslt+bias+relu".
std::string ProductName(const ProductSpec& spec);

// Pointers of one call; null for what there is none of.
struct ProductOperands {
  const void *a = nullptr, *b = nullptr, *bias = nullptr, *addend = nullptr;
  void* result = nullptr;
  void* workspace = nullptr;
  Stream* stream = nullptr;  // a DeviceStream
};

// A product by one of the library's algorithms. Immutable, shared by sessions.
class CublasProduct {
 public:
  virtual ~CublasProduct() = default;
  virtual const std::string& name() const = 0;  // "cublaslt+bias:24{tile=20,...}"
  virtual int64_t workspace_bytes() const = 0;
  virtual double slowdown() const = 0;  // expected time over the first's, less 1
  virtual absl::StatusOr<std::unique_ptr<KernelState>> NewState() const = 0;
  virtual absl::Status Run(const ProductOperands& operands, KernelState* state) const = 0;
};

// By the algorithms that the library's heuristics name, with workspace and without, best first; of
// all candidates more. Empty where it has none. The device is there.
absl::StatusOr<std::vector<std::unique_ptr<const CublasProduct>>> CublasProducts(
    const ProductSpec& spec, bool all_candidates, const LibraryDevice& device);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CUBLAS_PRODUCT_H_
