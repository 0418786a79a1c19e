#include <utility>

#include "graph/status.h"
#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/cuda/toolkit/conv_libraries.h"
#include "runtime/cuda/toolkit/cublas_product.h"

namespace ashlar::cuda {
namespace {

// After cuDNN's first choice, but well before kernels that are not worth a trial.
constexpr double kRelativeTime = 1.1;

bool IsProduct(const ConvProblem& problem) {
  const ConvolutionGeometry& g = problem.geometry;
  for (const WindowAxis& axis : {g.h, g.w}) {
    if (axis.window != 1 || axis.stride != 1 || axis.pad_begin != 0 || axis.pad_end != 0) {
      return false;
    }
  }
  const ScalarFunction activation = problem.param.nonlineMode;
  const bool one_format = problem.src.format == Format::kNHWC &&
                          problem.dst.format == Format::kNHWC &&
                          (!problem.z.has_value() || problem.z->format == Format::kNHWC);
  return one_format && g.groups == 1 && problem.constant_filter && problem.is_packed() &&
         problem.src_offset == 0 &&
         (activation == ScalarFunction::kIdentity || activation == ScalarFunction::kRelu);
}

class CublasConvolution final : public Kernel {
 public:
  CublasConvolution(const ConvProblem& problem, std::unique_ptr<const CublasProduct> product)
      : problem_(problem), product_(std::move(product)) {}

  std::string implementation() const override { return product_->name(); }
  int64_t workspace_bytes() const override { return product_->workspace_bytes(); }
  double relative_time() const override { return kRelativeTime + product_->slowdown(); }
  std::optional<Packing> packing(int input) const override {
    if (input != kFilter) return std::nullopt;
    return FilterPacking(problem_);
  }
  absl::Status Pack(int, const HostTensor& value, void* packed) const override {
    PackFilter(problem_, value, packed);
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override {
    return product_->NewState();
  }
  absl::Status Run(const KernelArgs& args, KernelState* state) const override {
    ProductOperands operands;
    operands.a = args.inputs[kSrc];
    operands.b = args.inputs[kFilter];
    operands.bias = problem_.has_bias ? args.inputs[kBias] : nullptr;
    operands.addend = problem_.z.has_value() ? args.inputs[kZ] : nullptr;
    operands.result = args.outputs[0];
    operands.workspace = args.workspace;
    operands.stream = args.stream;
    return product_->Run(operands, state);
  }

 private:
  const ConvProblem problem_;
  const std::unique_ptr<const CublasProduct> product_;
};

}  // namespace

absl::StatusOr<KernelList> CublasConvolutions(const ConvProblem& problem,
                                              const LibraryDevice& device) {
  KernelList kernels;
  if (device.cublas == nullptr || !problem.policy.all_candidates || !IsProduct(problem)) {
    return kernels;
  }
  ProductSpec spec;
  spec.dtype = problem.src.dtype;
  spec.m = problem.src.shape.num_elements() / problem.geometry.in_channels;
  spec.n = problem.geometry.out_channels;
  spec.k = problem.geometry.in_channels;
  spec.transposed_b = true;
  spec.has_addend = problem.z.has_value();
  spec.has_bias = problem.has_bias;
  spec.relu = problem.param.nonlineMode == ScalarFunction::kRelu;
  spec.tf32 = spec.dtype == DType::kFloat32 && problem.policy.allow_tf32;
  ASHLAR_ASSIGN_OR_RETURN(auto products, CublasProducts(spec, true, device));
  for (std::unique_ptr<const CublasProduct>& product : products) {
    kernels.push_back(std::make_unique<CublasConvolution>(problem, std::move(product)));
  }
  return kernels;
}

}  // namespace ashlar::cuda
