#include "benchmarks/onednn/matrix_mul.h"

#include <algorithm>
#include <utility>

#include "benchmarks/onednn/kernel.h"
#include "opr/base/strided.h"
#include "opr/matrix_mul.h"

namespace ashlar::onednn {
namespace {

using dnnl::memory;

constexpr int kB = 1;

// Describes an operand as matrices of a batch of rank `rank` - 2; dimensions of size 1 are
// broadcast.
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

class OneDnnMatrixMul final : public OneDnnKernel {
 public:
  OneDnnMatrixMul(const dnnl::matmul::primitive_desc& pd, const memory::desc& given)
      : OneDnnKernel(pd,
                     {OneDnnInput(DNNL_ARG_SRC, 0, pd.src_desc()),
                      OneDnnInput(DNNL_ARG_WEIGHTS, kB, pd.weights_desc()),
                      OneDnnOutput(DNNL_ARG_DST, 0, pd.dst_desc())},
                     1.0),
        given_(given),
        packed_(pd.weights_desc()) {}

  std::optional<Packing> packing(int input) const override {
    if (input != kB || packed_ == given_) return std::nullopt;
    return Packing{PackingKey(packed_), static_cast<int64_t>(packed_.get_size())};
  }
  absl::Status Pack(int /*input*/, const HostTensor& value, void* packed) const override {
    return OneDnnReorder(given_, value.raw(), packed_, packed);
  }

 private:
  const memory::desc given_, packed_;
};

}  // namespace

absl::Status AddOneDnnMatrixMul(const KernelRequest& request, KernelList& kernels) {
  const MatrixMulParam& param = static_cast<const MatrixMul&>(*request.op).param();
  const int rank = request.outputs[0].shape.rank();
  return CallOneDnn("MatrixMul", [&] {
    const memory::desc a = MatricesDesc(request.inputs[0], rank, param.transposeA);
    const memory::desc b = MatricesDesc(request.inputs[kB], rank, param.transposeB);
    const memory::desc output = MatricesDesc(request.outputs[0], rank, false);
    const auto add = [&](const memory::desc& weights) {
      ForEachImplementation(dnnl::matmul::primitive_desc({a, weights, output}, OneDnnAttributes(),
                                                         OneDnnEngine(), true),
                            [&](const dnnl::matmul::primitive_desc& pd) {
                              kernels.push_back(std::make_unique<OneDnnMatrixMul>(pd, b));
                            });
    };
    add(b);
    if (request.constant[kB]) {
      add(memory::desc(b.dims(), memory::data_type::f32, memory::format_tag::any));
    }
  });
}

}  // namespace ashlar::onednn
