// The library counts in columns: a row-major matrix is its transpose to it, and the product of the
// transposes in the other order is the transpose of the product.
#include "runtime/cuda/toolkit/matrix_mul_cublas.h"

#include <array>
#include <utility>

#include "graph/status.h"
#include "opr/matrix_mul.h"
#include "opr/strided.h"
#include "runtime/allocation_origin.h"
#include "runtime/cuda/toolkit/stream.h"

namespace ashlar::cuda {
namespace {

constexpr int64_t kWorkspaceLimits[] = {int64_t{32} << 20, 0};  // bytes
constexpr int kMostAlgorithms = 2;                              // for each limit
constexpr double kRankSlowdown = 0.05;
constexpr uint32_t kTensorAlignment = 16;  // bytes, as Device::tensor_alignment

cudaDataType_t DataType(DType dtype) {
  if (dtype == DType::kFloat16) return CUDA_R_16F;
  if (dtype == DType::kBFloat16) return CUDA_R_16BF;
  return CUDA_R_32F;
}

// A library object with the function that frees it.
template <typename Handle, cublasStatus_t (*kDestroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle_ != nullptr) static_cast<void>(kDestroy(handle_));
  }
  Handle* address() { return &handle_; }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

struct Product {
  Operation operation;
  Layout first, second, result;  // B, A and the output, as the library sees them
};

absl::Status MakeLayout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t batch,
                        int64_t stride, Layout& layout) {
  ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatrixLayoutCreate(
      layout.address(), type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), rows));
  const int32_t count = static_cast<int32_t>(batch);
  ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatrixLayoutSetAttribute(
      layout.get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)));
  ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatrixLayoutSetAttribute(
      layout.get(), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)));
  return absl::OkStatus();
}

absl::Status SetTranspose(Operation& operation, cublasLtMatmulDescAttributes_t which,
                          bool transposed) {
  const cublasOperation_t value = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  ASHLAR_CUDA_RETURN_IF_ERROR(
      cublasLtMatmulDescSetAttribute(operation.get(), which, &value, sizeof(value)));
  return absl::OkStatus();
}

// Null for batches that the library cannot walk.
absl::StatusOr<std::shared_ptr<const Product>> MakeProduct(const KernelRequest& request) {
  const MatrixMulParam& param = static_cast<const MatrixMul&>(*request.op).param();
  ASHLAR_ASSIGN_OR_RETURN(const MatrixMulGeometry g,
                          InferMatrixMul(param, request.inputs[0], request.inputs[1]));
  Shape batch = g.batch;
  std::array<Strides, 2> strides = {Strides(g.batch_strides_a.begin(), g.batch_strides_a.end()),
                                    Strides(g.batch_strides_b.begin(), g.batch_strides_b.end())};
  JoinDimensions(batch, strides);
  if (batch.rank() > 1 || batch[0] > INT32_MAX) return std::shared_ptr<const Product>();
  const DType dtype = request.inputs[0].dtype;
  const cudaDataType_t type = DataType(dtype);
  const bool tf32 = dtype == DType::kFloat32 && request.policy.allow_tf32;
  auto product = std::make_shared<Product>();
  ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatmulDescCreate(
      product->operation.address(), tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
      CUDA_R_32F));
  ASHLAR_RETURN_IF_ERROR(
      SetTranspose(product->operation, CUBLASLT_MATMUL_DESC_TRANSA, param.transposeB));
  ASHLAR_RETURN_IF_ERROR(
      SetTranspose(product->operation, CUBLASLT_MATMUL_DESC_TRANSB, param.transposeA));
  const int64_t b_rows = param.transposeB ? g.k : g.n, b_columns = param.transposeB ? g.n : g.k;
  const int64_t a_rows = param.transposeA ? g.m : g.k, a_columns = param.transposeA ? g.k : g.m;
  ASHLAR_RETURN_IF_ERROR(
      MakeLayout(type, b_rows, b_columns, batch[0], strides[1][0], product->first));
  ASHLAR_RETURN_IF_ERROR(
      MakeLayout(type, a_rows, a_columns, batch[0], strides[0][0], product->second));
  ASHLAR_RETURN_IF_ERROR(MakeLayout(type, g.n, g.m, batch[0], g.m * g.n, product->result));
  return std::shared_ptr<const Product>(std::move(product));
}

class CublasMatrixMul final : public Kernel {
 public:
  CublasMatrixMul(std::shared_ptr<const Product> product, cublasLtHandle_t handle,
                  const cublasLtMatmulHeuristicResult_t& choice, double relative_time)
      : product_(std::move(product)),
        handle_(handle),
        choice_(choice),
        relative_time_(relative_time) {}

  std::string implementation() const override { return "cublaslt"; }
  int64_t workspace_bytes() const override { return static_cast<int64_t>(choice_.workspaceSize); }
  double relative_time() const override { return relative_time_; }
  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    const OriginScope scope(AllocationOrigin::kLibrary);
    const auto* stream = static_cast<const DeviceStream*>(args.stream);
    const float alpha = 1, beta = 0;
    ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatmul(
        handle_, product_->operation.get(), &alpha, args.inputs[1], product_->first.get(),
        args.inputs[0], product_->second.get(), &beta, args.outputs[0], product_->result.get(),
        args.outputs[0], product_->result.get(), &choice_.algo, args.workspace,
        choice_.workspaceSize, stream->stream()));
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<const Product> product_;
  cublasLtHandle_t handle_;
  cublasLtMatmulHeuristicResult_t choice_;
  double relative_time_;
};

// Where no device is there to ask about.
class PlannedMatrixMul final : public Kernel {
 public:
  std::string implementation() const override { return "cublaslt"; }
  absl::Status Run(const KernelArgs&, KernelState*) const override {
    return absl::FailedPreconditionError("this product was planned without a device");
  }
};

}  // namespace

absl::StatusOr<KernelList> CublasMatrixMuls(const KernelRequest& request,
                                            const LibraryDevice& device) {
  KernelList kernels;
  if (device.cublas == nullptr) {
    kernels.push_back(std::make_unique<PlannedMatrixMul>());
    return kernels;
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const Product> product, MakeProduct(request));
  if (product == nullptr) return kernels;
  for (int64_t limit : kWorkspaceLimits) {
    Preference preference;
    ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatmulPreferenceCreate(preference.address()));
    const size_t most = static_cast<size_t>(limit);
    ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatmulPreferenceSetAttribute(
        preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof(most)));
    for (const cublasLtMatmulPreferenceAttributes_t which :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatmulPreferenceSetAttribute(
          preference.get(), which, &kTensorAlignment, sizeof(kTensorAlignment)));
    }
    cublasLtMatmulHeuristicResult_t choices[kMostAlgorithms] = {};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        device.cublas, product->operation.get(), product->first.get(), product->second.get(),
        product->result.get(), product->result.get(), preference.get(), kMostAlgorithms, choices,
        &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) continue;
    ASHLAR_CUDA_RETURN_IF_ERROR(status);
    for (int i = 0; i < count; ++i) {
      const double time = 1.0 + kRankSlowdown * static_cast<double>(kernels.size());
      kernels.push_back(
          std::make_unique<CublasMatrixMul>(product, device.cublas, choices[i], time));
    }
  }
  return kernels;
}

}  // namespace ashlar::cuda
