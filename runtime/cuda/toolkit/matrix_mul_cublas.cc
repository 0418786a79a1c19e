#include "runtime/cuda/toolkit/matrix_mul_cublas.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "graph/status.h"
#include "opr/base/strided.h"
#include "opr/matrix_mul_bias.h"
#include "runtime/cuda/toolkit/cublas_product.h"

namespace ashlar::cuda {
namespace {

// Returns nullopt for batches that the library cannot walk.
absl::StatusOr<std::optional<ProductSpec>> SpecOf(const MatrixMulBiasParam& param,
                                                  const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const MatrixMulGeometry g,
                          InferMatrixMul(param, request.inputs[0], request.inputs[1]));
  Shape batch = g.batch;
  std::array<Strides, 2> strides = {Strides(g.batch_strides_a.begin(), g.batch_strides_a.end()),
                                    Strides(g.batch_strides_b.begin(), g.batch_strides_b.end())};
  JoinDimensions(batch, strides);
  if (batch.rank() > 1 || batch[0] > INT32_MAX) return std::nullopt;
  ProductSpec spec;
  spec.dtype = request.inputs[0].dtype;
  spec.m = g.m;
  spec.n = g.n;
  spec.k = g.k;
  spec.batch = batch[0];
  spec.stride_a = strides[0][0];
  spec.stride_b = strides[1][0];
  spec.transposed_a = param.transposeA;
  spec.transposed_b = param.transposeB;
  spec.has_bias = request.inputs.size() > MatrixMulBias::kBias;
  spec.relu = spec.has_bias && param.relu;
  spec.tf32 = spec.dtype == DType::kFloat32 && request.policy.allow_tf32;
  return spec;
}

class CublasMatrixMul final : public Kernel {
 public:
  CublasMatrixMul(std::unique_ptr<const CublasProduct> product, bool has_bias)
      : product_(std::move(product)), has_bias_(has_bias) {}

  std::string implementation() const override { return product_->name(); }
  int64_t workspace_bytes() const override { return product_->workspace_bytes(); }
  double relative_time() const override { return 1 + product_->slowdown(); }
  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override {
    return product_->NewState();
  }
  absl::Status Run(const KernelArgs& args, KernelState* state) const override {
    ProductOperands operands;
    operands.a = args.inputs[0];
    operands.b = args.inputs[1];
    operands.bias = has_bias_ ? args.inputs[MatrixMulBias::kBias] : nullptr;
    operands.result = args.outputs[0];
    operands.workspace = args.workspace;
    operands.stream = args.stream;
    return product_->Run(operands, state);
  }

 private:
  const std::unique_ptr<const CublasProduct> product_;
  const bool has_bias_;
};

// A kernel for planning without a device.
class PlannedMatrixMul final : public Kernel {
 public:
  explicit PlannedMatrixMul(const ProductSpec& spec) : name_(ProductName(spec)) {}
  std::string implementation() const override { return name_; }
  absl::Status Run(const KernelArgs&, KernelState*) const override {
    return absl::FailedPreconditionError("this product was planned without a device");
  }

 private:
  const std::string name_;
};

absl::StatusOr<KernelList> KernelsFor(const ProductSpec& spec, bool all_candidates,
                                      const LibraryDevice& device) {
  KernelList kernels;
  ASHLAR_ASSIGN_OR_RETURN(auto products, CublasProducts(spec, all_candidates, device));
  for (std::unique_ptr<const CublasProduct>& product : products) {
    kernels.push_back(std::make_unique<CublasMatrixMul>(std::move(product), spec.has_bias));
  }
  return kernels;
}

}  // namespace

absl::StatusOr<KernelList> CublasMatrixMuls(const MatrixMulBiasParam& param,
                                            const KernelRequest& request,
                                            const LibraryDevice& device) {
  KernelList kernels;
  ASHLAR_ASSIGN_OR_RETURN(const std::optional<ProductSpec> spec, SpecOf(param, request));
  if (!spec.has_value()) return kernels;
  if (device.cublas == nullptr) {
    kernels.push_back(std::make_unique<PlannedMatrixMul>(*spec));
    return kernels;
  }
  return KernelsFor(*spec, request.policy.all_candidates, device);
}

absl::StatusOr<KernelList> CublasByteProducts(int64_t m, int64_t n, int64_t k,
                                              const LibraryDevice& device) {
  if (device.cublas == nullptr) return KernelList();
  ProductSpec spec;
  spec.dtype = DType::kInt8;
  spec.m = m;
  spec.n = n;
  spec.k = k;
  spec.transposed_b = true;
  return KernelsFor(spec, /*all_candidates=*/true, device);
}

}  // namespace ashlar::cuda
