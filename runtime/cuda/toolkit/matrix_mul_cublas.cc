// The library counts in columns: a row-major matrix is its transpose to it, and the product of the
// transposes in the other order is the transpose of the product.
#include "runtime/cuda/toolkit/matrix_mul_cublas.h"

#include <array>
#include <set>
#include <string>
#include <utility>

#include "graph/status.h"
#include "opr/matrix_mul_bias.h"
#include "opr/strided.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/toolkit/stream.h"
#include "runtime/device/allocation_origin.h"

namespace ashlar::cuda {
namespace {

constexpr int64_t kWorkspaceLimits[] = {int64_t{32} << 20, 0};  // bytes
// For each limit: of those expected to be fast, and to be measured.
constexpr int kByHeuristics = 2, kAllCandidates = 8;
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
  MatrixMulBiasParam param;
  bool has_bias = false;
  bool tf32 = false;
  Operation operation;           // for the heuristics: its bias is nowhere
  Layout first, second, result;  // B, A and the output, as the library sees them
};

std::string Name(bool has_bias, bool relu) {
  return absl::StrCat("cublaslt", has_bias ? "+bias" : "", relu ? "+relu" : "");
}

template <typename T>
absl::StatusOr<T> ConfigOf(const cublasLtMatmulAlgo_t& algorithm,
                           cublasLtMatmulAlgoConfigAttributes_t name) {
  T value = 0;
  size_t written = 0;
  ASHLAR_CUDA_RETURN_IF_ERROR(
      cublasLtMatmulAlgoConfigGetAttribute(&algorithm, name, &value, sizeof(value), &written));
  return value;
}

// Tells algorithms of one product from each other: "24{tile=20,splitk=3,stages=5}".
absl::StatusOr<std::string> NameOf(const cublasLtMatmulAlgo_t& algorithm) {
  ASHLAR_ASSIGN_OR_RETURN(const int32_t id, ConfigOf<int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID));
  ASHLAR_ASSIGN_OR_RETURN(const uint32_t tile,
                          ConfigOf<uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID));
  ASHLAR_ASSIGN_OR_RETURN(const int32_t split,
                          ConfigOf<int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
  ASHLAR_ASSIGN_OR_RETURN(const uint32_t stages,
                          ConfigOf<uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID));
  return absl::StrCat(id, "{tile=", tile, ",splitk=", split, ",stages=", stages, "}");
}

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

absl::Status SetBias(Operation& operation, const void* bias) {
  ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatmulDescSetAttribute(
      operation.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)));
  return absl::OkStatus();
}

// The product and what follows it. Sums, scales and the epilogue are in Float32; the bias has the
// output's dtype, and is the same for all matrices of a batch.
absl::Status MakeOperation(const Product& product, Operation& operation) {
  ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatmulDescCreate(
      operation.address(), product.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
      CUDA_R_32F));
  ASHLAR_RETURN_IF_ERROR(
      SetTranspose(operation, CUBLASLT_MATMUL_DESC_TRANSA, product.param.transposeB));
  ASHLAR_RETURN_IF_ERROR(
      SetTranspose(operation, CUBLASLT_MATMUL_DESC_TRANSB, product.param.transposeA));
  if (!product.has_bias) return absl::OkStatus();
  // The library adds one value to each row of what it sees transposed.
  const cublasLtEpilogue_t epilogue =
      product.param.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatmulDescSetAttribute(
      operation.get(), CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
  return absl::OkStatus();
}

// Null for batches that the library cannot walk.
absl::StatusOr<std::shared_ptr<const Product>> MakeProduct(const MatrixMulBiasParam& param,
                                                           const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const MatrixMulGeometry g,
                          InferMatrixMul(param, request.inputs[0], request.inputs[1]));
  Shape batch = g.batch;
  std::array<Strides, 2> strides = {Strides(g.batch_strides_a.begin(), g.batch_strides_a.end()),
                                    Strides(g.batch_strides_b.begin(), g.batch_strides_b.end())};
  JoinDimensions(batch, strides);
  if (batch.rank() > 1 || batch[0] > INT32_MAX) return std::shared_ptr<const Product>();
  const DType dtype = request.inputs[0].dtype;
  const cudaDataType_t type = DataType(dtype);
  auto product = std::make_shared<Product>();
  product->param = param;
  product->has_bias = request.inputs.size() > MatrixMulBias::kBias;
  product->tf32 = dtype == DType::kFloat32 && request.policy.allow_tf32;
  ASHLAR_RETURN_IF_ERROR(MakeOperation(*product, product->operation));
  if (product->has_bias) {
    // The heuristics look at its alignment only.
    ASHLAR_RETURN_IF_ERROR(
        SetBias(product->operation, reinterpret_cast<const void*>(uintptr_t{kTensorAlignment})));
  }
  const int64_t b_rows = param.transposeB ? g.k : g.n, b_columns = param.transposeB ? g.n : g.k;
  const int64_t a_rows = param.transposeA ? g.m : g.k, a_columns = param.transposeA ? g.k : g.m;
  ASHLAR_RETURN_IF_ERROR(
      MakeLayout(type, b_rows, b_columns, batch[0], strides[1][0], product->first));
  ASHLAR_RETURN_IF_ERROR(
      MakeLayout(type, a_rows, a_columns, batch[0], strides[0][0], product->second));
  ASHLAR_RETURN_IF_ERROR(MakeLayout(type, g.n, g.m, batch[0], g.m * g.n, product->result));
  return std::shared_ptr<const Product>(std::move(product));
}

// The operation of one session, as it holds the bias's address.
class BoundOperation final : public KernelState {
 public:
  static absl::StatusOr<std::unique_ptr<KernelState>> Make(const Product& product) {
    auto bound = std::make_unique<BoundOperation>();
    ASHLAR_RETURN_IF_ERROR(MakeOperation(product, bound->operation_));
    return bound;
  }
  absl::StatusOr<cublasLtMatmulDesc_t> WithBias(const void* bias) {
    if (bias != bias_) ASHLAR_RETURN_IF_ERROR(SetBias(operation_, bias));
    bias_ = bias;
    return operation_.get();
  }

 private:
  Operation operation_;
  const void* bias_ = nullptr;
};

class CublasMatrixMul final : public Kernel {
 public:
  CublasMatrixMul(std::shared_ptr<const Product> product, cublasLtHandle_t handle,
                  const cublasLtMatmulHeuristicResult_t& choice, absl::string_view algorithm,
                  double relative_time)
      : product_(std::move(product)),
        handle_(handle),
        choice_(choice),
        implementation_(
            absl::StrCat(Name(product_->has_bias, product_->param.relu), ":", algorithm)),
        relative_time_(relative_time) {}

  std::string implementation() const override { return implementation_; }
  int64_t workspace_bytes() const override { return static_cast<int64_t>(choice_.workspaceSize); }
  double relative_time() const override { return relative_time_; }
  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override {
    return BoundOperation::Make(*product_);
  }
  absl::Status Run(const KernelArgs& args, KernelState* state) const override {
    const OriginScope scope(AllocationOrigin::kLibrary);
    const auto* stream = static_cast<const DeviceStream*>(args.stream);
    const float alpha = 1, beta = 0;
    ASHLAR_ASSIGN_OR_RETURN(const cublasLtMatmulDesc_t operation,
                            static_cast<BoundOperation*>(state)->WithBias(
                                product_->has_bias ? args.inputs[MatrixMulBias::kBias] : nullptr));
    ASHLAR_CUDA_RETURN_IF_ERROR(
        cublasLtMatmul(handle_, operation, &alpha, args.inputs[1], product_->first.get(),
                       args.inputs[0], product_->second.get(), &beta, args.outputs[0],
                       product_->result.get(), args.outputs[0], product_->result.get(),
                       &choice_.algo, args.workspace, choice_.workspaceSize, stream->stream()));
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<const Product> product_;
  cublasLtHandle_t handle_;
  cublasLtMatmulHeuristicResult_t choice_;
  std::string implementation_;
  double relative_time_;
};

// What algorithms may be: with at most `limit` bytes of workspace, for tensors as they are aligned
// here, and with sums in Float32, which those of parts of the inner dimension need not be.
absl::Status SetPreference(int64_t limit, DType output, Preference& preference) {
  ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatmulPreferenceCreate(preference.address()));
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) -> absl::Status {
    ASHLAR_CUDA_RETURN_IF_ERROR(
        cublasLtMatmulPreferenceSetAttribute(preference.get(), which, &value, sizeof(value)));
    return absl::OkStatus();
  };
  ASHLAR_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(limit)));
  if (output != DType::kFloat32) {
    ASHLAR_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                               uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}));
  }
  for (const cublasLtMatmulPreferenceAttributes_t which :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    ASHLAR_RETURN_IF_ERROR(set(which, kTensorAlignment));
  }
  return absl::OkStatus();
}

// Where no device is there to ask about.
class PlannedMatrixMul final : public Kernel {
 public:
  PlannedMatrixMul(const MatrixMulBiasParam& param, const KernelRequest& request)
      : name_(Name(request.inputs.size() > MatrixMulBias::kBias, param.relu)) {}
  std::string implementation() const override { return name_; }
  absl::Status Run(const KernelArgs&, KernelState*) const override {
    return absl::FailedPreconditionError("this product was planned without a device");
  }

 private:
  const std::string name_;
};

}  // namespace

absl::StatusOr<KernelList> CublasMatrixMuls(const MatrixMulBiasParam& param,
                                            const KernelRequest& request,
                                            const LibraryDevice& device) {
  KernelList kernels;
  if (device.cublas == nullptr) {
    kernels.push_back(std::make_unique<PlannedMatrixMul>(param, request));
    return kernels;
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const Product> product,
                          MakeProduct(param, request));
  if (product == nullptr) return kernels;
  const int most = request.policy.all_candidates ? kAllCandidates : kByHeuristics;
  std::set<std::string> known;  // what needs no workspace is an answer to both limits
  for (int64_t limit : kWorkspaceLimits) {
    Preference preference;
    ASHLAR_RETURN_IF_ERROR(SetPreference(limit, request.outputs[0].dtype, preference));
    std::array<cublasLtMatmulHeuristicResult_t, kAllCandidates> choices = {};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        device.cublas, product->operation.get(), product->first.get(), product->second.get(),
        product->result.get(), product->result.get(), preference.get(), most, choices.data(),
        &count);
    if (status != CUBLAS_STATUS_SUCCESS) continue;  // there is a kernel of our own
    for (int i = 0; i < count; ++i) {
      if (choices[i].state != CUBLAS_STATUS_SUCCESS) continue;  // nothing else of it is valid
      ASHLAR_ASSIGN_OR_RETURN(const std::string name, NameOf(choices[i].algo));
      // Names do not say all that algorithms differ in.
      if (!known.insert(absl::StrCat(name, " ", choices[i].workspaceSize)).second) continue;
      const double time = 1.0 + kRankSlowdown * i;  // without workspace no slower than with it
      kernels.push_back(
          std::make_unique<CublasMatrixMul>(product, device.cublas, choices[i], name, time));
    }
  }
  return kernels;
}

}  // namespace ashlar::cuda
