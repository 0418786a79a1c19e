// The library is column-major: it sees a row-major matrix as its transpose. The transpose of a
// product is the product of the transposes in the opposite order.
#include "runtime/cuda/toolkit/cublas_product.h"

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "runtime/cuda/toolkit/stream.h"
#include "runtime/device/allocation_origin.h"

namespace ashlar::cuda {
namespace {

constexpr int64_t kWorkspaceLimits[] = {int64_t{32} << 20, 0};  // in bytes
// For each limit: algorithms expected to be fast, and algorithms to be measured.
constexpr int kByHeuristics = 2, kAllCandidates = 8;
constexpr double kRankSlowdown = 0.05;
constexpr uint32_t kTensorAlignment = 16;  // in bytes, like Device::tensor_alignment

struct NumberTypes {
  cudaDataType_t operands, result, scale;
  cublasComputeType_t compute;
};
NumberTypes TypesOf(const ProductSpec& spec) {
  switch (spec.dtype) {
    case DType::kInt8:
      return {CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I};
    case DType::kFloat16:
      return {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::kBFloat16:
      return {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    default:
      return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
              spec.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
  }
}

// Returns 0 or 1 in the type of the product's scales.
const void* ScaleOf(const ProductSpec& spec, bool one) {
  static constexpr float kFloats[] = {0, 1};
  static constexpr int32_t kIntegers[] = {0, 1};
  if (spec.dtype == DType::kInt8) return &kIntegers[one];
  return &kFloats[one];
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
  ProductSpec spec;
  Operation operation;           // for the heuristics: without an actual bias
  Layout first, second, result;  // B, A and the output, as the library sees them
};

struct AlgorithmConfig {
  const char* name;
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  size_t bytes;
};
// The fields that distinguish algorithms of one product; on Hopper mainly the last three.
constexpr AlgorithmConfig kAlgorithmConfigs[] = {
    {"id", CUBLASLT_ALGO_CONFIG_ID, sizeof(int32_t)},
    {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, sizeof(uint32_t)},
    {"splitk", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, sizeof(int32_t)},
    {"scheme", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, sizeof(uint32_t)},
    {"swizzling", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, sizeof(uint32_t)},
    {"custom", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, sizeof(uint32_t)},
    {"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, sizeof(uint32_t)},
    {"inner", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, sizeof(uint16_t)},
    {"cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, sizeof(uint16_t)},
};

// Returns e.g. "{id=24,tile=20,splitk=3,...}".
absl::StatusOr<std::string> NameOf(const cublasLtMatmulAlgo_t& algorithm) {
  std::vector<std::string> parts;
  for (const AlgorithmConfig& config : kAlgorithmConfigs) {
    uint32_t value = 0;  // little-endian, so that a shorter value fills the lowest bytes
    size_t written = 0;
    ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatmulAlgoConfigGetAttribute(
        &algorithm, config.attribute, &value, config.bytes, &written));
    parts.push_back(absl::StrCat(config.name, "=", value));
  }
  return absl::StrCat("{", absl::StrJoin(parts, ","), "}");
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

cublasLtEpilogue_t EpilogueOf(const ProductSpec& spec) {
  if (spec.has_bias) return spec.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return spec.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

// Describes the product and its epilogue, which is computed in the type of the scales. The bias has
// the output's dtype, and is the same for all matrices of a batch.
absl::Status MakeOperation(const ProductSpec& spec, Operation& operation) {
  const NumberTypes types = TypesOf(spec);
  ASHLAR_CUDA_RETURN_IF_ERROR(
      cublasLtMatmulDescCreate(operation.address(), types.compute, types.scale));
  ASHLAR_RETURN_IF_ERROR(SetTranspose(operation, CUBLASLT_MATMUL_DESC_TRANSA, spec.transposed_b));
  ASHLAR_RETURN_IF_ERROR(SetTranspose(operation, CUBLASLT_MATMUL_DESC_TRANSB, spec.transposed_a));
  // The library adds one bias value to each row of its transposed view.
  const cublasLtEpilogue_t epilogue = EpilogueOf(spec);
  if (epilogue == CUBLASLT_EPILOGUE_DEFAULT) return absl::OkStatus();
  ASHLAR_CUDA_RETURN_IF_ERROR(cublasLtMatmulDescSetAttribute(
      operation.get(), CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Product>> MakeProduct(const ProductSpec& spec) {
  const NumberTypes types = TypesOf(spec);
  auto product = std::make_shared<Product>();
  product->spec = spec;
  ASHLAR_RETURN_IF_ERROR(MakeOperation(spec, product->operation));
  if (spec.has_bias) {
    // The heuristics only look at its alignment.
    ASHLAR_RETURN_IF_ERROR(
        SetBias(product->operation, reinterpret_cast<const void*>(uintptr_t{kTensorAlignment})));
  }
  const int64_t b_rows = spec.transposed_b ? spec.k : spec.n;
  const int64_t a_rows = spec.transposed_a ? spec.m : spec.k;
  ASHLAR_RETURN_IF_ERROR(MakeLayout(types.operands, b_rows, spec.n + spec.k - b_rows, spec.batch,
                                    spec.stride_b, product->first));
  ASHLAR_RETURN_IF_ERROR(MakeLayout(types.operands, a_rows, spec.m + spec.k - a_rows, spec.batch,
                                    spec.stride_a, product->second));
  ASHLAR_RETURN_IF_ERROR(
      MakeLayout(types.result, spec.n, spec.m, spec.batch, spec.m * spec.n, product->result));
  return std::shared_ptr<const Product>(std::move(product));
}

// The operation of one session, which holds the bias's address.
class BoundOperation final : public KernelState {
 public:
  static absl::StatusOr<std::unique_ptr<KernelState>> Make(const ProductSpec& spec) {
    auto bound = std::make_unique<BoundOperation>();
    ASHLAR_RETURN_IF_ERROR(MakeOperation(spec, bound->operation_));
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

class ProductByAlgorithm final : public CublasProduct {
 public:
  ProductByAlgorithm(std::shared_ptr<const Product> product, cublasLtHandle_t handle,
                     const cublasLtMatmulHeuristicResult_t& choice, absl::string_view algorithm,
                     double slowdown)
      : product_(std::move(product)),
        handle_(handle),
        choice_(choice),
        name_(absl::StrCat(ProductName(product_->spec), ":", algorithm)),
        slowdown_(slowdown) {}

  const std::string& name() const override { return name_; }
  int64_t workspace_bytes() const override { return static_cast<int64_t>(choice_.workspaceSize); }
  double slowdown() const override { return slowdown_; }
  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override {
    return BoundOperation::Make(product_->spec);
  }
  absl::Status Run(const ProductOperands& operands, KernelState* state) const override {
    const OriginScope scope(AllocationOrigin::kLibrary);
    const auto* stream = static_cast<const DeviceStream*>(operands.stream);
    const ProductSpec& spec = product_->spec;
    ASHLAR_ASSIGN_OR_RETURN(const cublasLtMatmulDesc_t operation,
                            static_cast<BoundOperation*>(state)->WithBias(operands.bias));
    const void* const addend = spec.has_addend ? operands.addend : operands.result;
    ASHLAR_CUDA_RETURN_IF_ERROR(
        cublasLtMatmul(handle_, operation, ScaleOf(spec, true), operands.b, product_->first.get(),
                       operands.a, product_->second.get(), ScaleOf(spec, spec.has_addend), addend,
                       product_->result.get(), operands.result, product_->result.get(),
                       &choice_.algo, operands.workspace, choice_.workspaceSize, stream->stream()));
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<const Product> product_;
  const cublasLtHandle_t handle_;
  const cublasLtMatmulHeuristicResult_t choice_;
  const std::string name_;
  const double slowdown_;
};

// Limits algorithms to `limit` bytes of workspace, to the alignment of tensors here, and to Float32
// sums. By default, if the inner dimension is split, its partial sums may have the output's dtype.
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

}  // namespace

std::string ProductName(const ProductSpec& spec) {
  return absl::StrCat("cublaslt", spec.has_addend ? "+z" : "", spec.has_bias ? "+bias" : "",
                      spec.relu ? "+relu" : "");
}

absl::StatusOr<std::vector<std::unique_ptr<const CublasProduct>>> CublasProducts(
    const ProductSpec& spec, bool all_candidates, const LibraryDevice& device) {
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const Product> product, MakeProduct(spec));
  std::vector<std::unique_ptr<const CublasProduct>> products;
  std::set<std::string> known;  // algorithms without workspace are found for both limits
  for (int64_t limit : kWorkspaceLimits) {
    Preference preference;
    ASHLAR_RETURN_IF_ERROR(SetPreference(limit, spec.dtype, preference));
    std::array<cublasLtMatmulHeuristicResult_t, kAllCandidates> choices = {};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        device.cublas, product->operation.get(), product->first.get(), product->second.get(),
        product->result.get(), product->result.get(), preference.get(),
        all_candidates ? kAllCandidates : kByHeuristics, choices.data(), &count);
    if (status != CUBLAS_STATUS_SUCCESS) continue;  // other kernels exist
    for (int i = 0; i < count; ++i) {
      if (choices[i].state != CUBLAS_STATUS_SUCCESS) continue;  // its other fields are not valid
      ASHLAR_ASSIGN_OR_RETURN(const std::string name, NameOf(choices[i].algo));
      if (!known.insert(absl::StrCat(name, " ", choices[i].workspaceSize)).second) continue;
      // Variants without workspace are ranked like variants with it.
      products.push_back(std::make_unique<const ProductByAlgorithm>(
          product, device.cublas, choices[i], name, kRankSlowdown * i));
    }
  }
  return products;
}

}  // namespace ashlar::cuda
