// MatrixMul on oneDNN; a constant second operand is packed.
#include "opr/matrix_mul.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "graph/status.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/onednn.h"

namespace ashlar {
namespace {

using dnnl::memory;

constexpr int kB = 1;  // the input that may be packed

// What is fastest depends on the rows of A. Measured at k = 2048, n = 1000 with cold weights, one
// thread, in ms for 1 row and for 10: oneDNN's "brg" with weights in blocks of its choice 0.65 and
// 0.70, its "gemm" with weights as given 0.71 and 1.31, with weights along k 0.48 and 1.13.
constexpr double kSlowdown = 1.6;

class MatrixMulKernel final : public OneDnnKernel {
 public:
  // `given` is how B lies before it is packed, nullopt where it is not.
  MatrixMulKernel(const dnnl::matmul::primitive_desc& pd, std::optional<memory::desc> given,
                  double relative_time)
      : OneDnnKernel(pd,
                     {OneDnnInput(DNNL_ARG_SRC, 0, pd.src_desc()),
                      OneDnnInput(DNNL_ARG_WEIGHTS, kB, pd.weights_desc()),
                      OneDnnOutput(DNNL_ARG_DST, 0, pd.dst_desc())},
                     relative_time),
        given_(std::move(given)),
        packed_(pd.weights_desc()) {}

  std::optional<Packing> packing(int input) const override {
    if (input != kB || !given_.has_value()) return std::nullopt;
    return Packing{PackingKey(packed_), static_cast<int64_t>(packed_.get_size())};
  }
  absl::Status Pack(int, const HostTensor& value, void* packed) const override {
    return OneDnnReorder(*given_, value.raw(), packed_, packed);
  }

 private:
  std::optional<memory::desc> given_;
  memory::desc packed_;
};

// An operand as matrices of a batch of rank `rank` - 2; dimensions of size 1 are broadcast.
memory::desc MatricesDesc(const TensorType& type, int rank, bool transposed) {
  memory::dims dims(rank - type.shape.rank(), 1);
  dims.insert(dims.end(), type.shape.dims().begin(), type.shape.dims().end());
  const auto contiguous = ContiguousStrides(Shape(dims));
  memory::dims strides(contiguous.begin(), contiguous.end());
  if (transposed) {
    std::swap(dims[rank - 2], dims[rank - 1]);
    std::swap(strides[rank - 2], strides[rank - 1]);
  }
  return memory::desc(dims, memory::data_type::f32, strides);
}

// `gemm_is_fastest` says whether the implementation "gemm" comes first or last.
void AddKernels(const memory::desc& a, const memory::desc& b, const memory::desc& output,
                const memory::desc& given_b, bool gemm_is_fastest, KernelList& kernels) {
  ForEachImplementation(
      dnnl::matmul::primitive_desc({a, b, output}, OneDnnAttributes(), OneDnnEngine(), true),
      [&](const dnnl::matmul::primitive_desc& pd) {
        std::optional<memory::desc> given;
        if (pd.weights_desc() != given_b) given = given_b;
        const bool fastest = absl::StartsWith(pd.impl_info_str(), "gemm") == gemm_is_fastest;
        kernels.insert(
            fastest ? kernels.begin() : kernels.end(),
            std::make_unique<MatrixMulKernel>(pd, std::move(given), fastest ? 1.0 : kSlowdown));
      });
}

absl::StatusOr<KernelList> MakeMatrixMul(const KernelRequest& request) {
  const MatrixMulParam& param = static_cast<const MatrixMul&>(*request.op).param();
  const int rank = request.outputs[0].shape.rank();
  KernelList kernels;
  ASHLAR_RETURN_IF_ERROR(CallOneDnn("MatrixMul", [&] {
    const memory::desc a = MatricesDesc(request.inputs[0], rank, param.transposeA);
    const memory::desc b = MatricesDesc(request.inputs[kB], rank, param.transposeB);
    const memory::desc output = MatricesDesc(request.outputs[0], rank, false);
    const bool single_row = output.dims()[rank - 2] == 1;
    if (!request.constant[kB]) {
      AddKernels(a, b, output, b, false, kernels);
    } else if (!single_row) {
      const memory::desc blocks(b.dims(), memory::data_type::f32, memory::format_tag::any);
      AddKernels(a, blocks, output, b, false, kernels);
    } else {
      TensorType columns = request.inputs[kB];
      const int last = columns.shape.rank() - 1;
      if (!param.transposeB) std::swap(columns.shape[last - 1], columns.shape[last]);
      AddKernels(a, MatricesDesc(columns, rank, true), output, b, true, kernels);
    }
  }));
  return kernels;
}

}  // namespace

void RegisterMatrixMulKernels(KernelRegistry& registry) {
  registry.Register("MatrixMul", MakeMatrixMul);
}

}  // namespace ashlar
