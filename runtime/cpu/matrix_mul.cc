// MatrixMul: one constant matrix B by a kernel of our own, which packs it; the rest by oneDNN,
// which is the only one for them: its workspace is that of the machine at hand, whatever processor
// a plan is for.
#include "opr/matrix_mul.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "graph/status.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/matrix_tile.h"
#include "runtime/cpu/onednn.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

using dnnl::memory;

constexpr int kB = 1;  // the input that may be packed

// Rows of B whose products are summed before the sum is added to the output: it keeps long sums
// accurate, and such a part of a panel in the second-level cache while the rows of A pass by.
constexpr int64_t kDepth = 1024;

// A [m, k] times a constant B. Where A has few rows, the time is that of reading B, so each panel
// of it is read once, from beginning to end.
class PackedMatrixMul final : public Kernel {
 public:
  PackedMatrixMul(int64_t m, int64_t k, int64_t n, bool transposed, int threads, Isa isa)
      : m_(m), k_(k), n_(n), transposed_(transposed), threads_(threads), isa_(isa) {}

  std::string implementation() const override { return absl::StrCat("matrix_mul:", Name(isa_)); }

  std::optional<Packing> packing(int input) const override {
    if (input != kB) return std::nullopt;
    return Packing{absl::StrCat("panels of ", tiling_.panel, transposed_ ? " transposed" : ""),
                   k_ * n_ * static_cast<int64_t>(sizeof(float))};
  }

  absl::Status Pack(int /*input*/, const HostTensor& value, void* packed) const override {
    const float* const b = value.data<float>().data();
    const int64_t row = transposed_ ? 1 : n_, column = transposed_ ? k_ : 1;
    float* to = static_cast<float*>(packed);
    for (int64_t panel = 0; panel < panels_; ++panel) {
      const int64_t first = panel * tiling_.panel;
      const int64_t columns = std::min(tiling_.panel, n_ - first);
      for (int64_t i = 0; i < k_; ++i, to += columns) {
        const float* const from = b + i * row + first * column;
        for (int64_t j = 0; j < columns; ++j) to[j] = from[j * column];
      }
    }
    return absl::OkStatus();
  }

  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    const float* const a = static_cast<const float*>(args.inputs[0]);
    const float* const b = static_cast<const float*>(args.inputs[kB]);
    float* const c = static_cast<float*>(args.outputs[0]);
    const int64_t tiles = (m_ + tiling_.max_rows - 1) / tiling_.max_rows;
    // Where the panels are too few for the threads, these share the rows of A as well.
    const int64_t parts = panels_ >= 4 * threads_ ? 1 : tiles;
    ParallelFor(threads_, panels_ * parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t part = i % parts;
        Panel(a, b, i / parts, m_ * part / parts, m_ * (part + 1) / parts, c);
      }
    });
    return absl::OkStatus();
  }

 private:
  // Rows [begin, end) of the columns of one panel.
  void Panel(const float* a, const float* b, int64_t panel, int64_t begin, int64_t end,
             float* c) const {
    const int64_t first = panel * tiling_.panel;
    const int64_t columns = std::min(tiling_.panel, n_ - first);
    for (int64_t r = begin; r < end; ++r) std::fill_n(c + r * n_ + first, columns, 0.0f);
    for (int64_t depth = 0; depth < k_; depth += kDepth) {
      const int64_t length = std::min(kDepth, k_ - depth);
      const float* const part = b + first * k_ + depth * columns;
      if (columns < tiling_.panel) {
        NarrowMatrixTileFor(isa_)(a + begin * k_ + depth, k_, end - begin, part, length, columns,
                                  c + begin * n_ + first, n_);
        continue;
      }
      for (int64_t r = begin; r < end; r += tiling_.max_rows) {
        const int64_t rows = std::min(tiling_.max_rows, end - r);
        MatrixTileFor(isa_, rows)(a + r * k_ + depth, k_, part, length, c + r * n_ + first, n_);
      }
    }
  }

  const int64_t m_, k_, n_;
  const bool transposed_;
  const int threads_;
  const Isa isa_;
  const MatrixTiling tiling_ = MatrixTilingFor(isa_);
  const int64_t panels_ = (n_ + tiling_.panel - 1) / tiling_.panel;
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

absl::Status AddOneDnnKernels(const KernelRequest& request, const MatrixMulParam& param,
                              KernelList& kernels) {
  const int rank = request.outputs[0].shape.rank();
  return CallOneDnn("MatrixMul", [&] {
    const memory::desc a = MatricesDesc(request.inputs[0], rank, param.transposeA);
    const memory::desc b = MatricesDesc(request.inputs[kB], rank, param.transposeB);
    const memory::desc output = MatricesDesc(request.outputs[0], rank, false);
    ForEachImplementation(
        dnnl::matmul::primitive_desc({a, b, output}, OneDnnAttributes(), OneDnnEngine(), true),
        [&](const dnnl::matmul::primitive_desc& pd) {
          kernels.push_back(std::make_unique<OneDnnKernel>(
              pd, std::vector<OneDnnArgument>{OneDnnInput(DNNL_ARG_SRC, 0, pd.src_desc()),
                                              OneDnnInput(DNNL_ARG_WEIGHTS, kB, pd.weights_desc()),
                                              OneDnnOutput(DNNL_ARG_DST, 0, pd.dst_desc())}));
        });
  });
}

absl::StatusOr<KernelList> MakeMatrixMul(const MatrixMul& op, const KernelRequest& request) {
  const MatrixMulParam& param = op.param();
  ASHLAR_ASSIGN_OR_RETURN(const MatrixMulGeometry geometry,
                          InferMatrixMul(param, request.inputs[0], request.inputs[kB]));
  KernelList kernels;
  if (request.constant[kB] && request.inputs[kB].shape.rank() == 2 && !param.transposeA) {
    // All matrices of A are one with more rows.
    kernels.push_back(std::make_unique<PackedMatrixMul>(geometry.batch.num_elements() * geometry.m,
                                                        geometry.k, geometry.n, param.transposeB,
                                                        request.threads, request.processor.isa));
    return kernels;
  }
  ASHLAR_RETURN_IF_ERROR(AddOneDnnKernels(request, param, kernels));
  return kernels;
}

}  // namespace

void RegisterMatrixMulKernels(KernelRegistry& registry) {
  registry.Register<MatrixMul>(MakeMatrixMul, {DType::kFloat32});
}

}  // namespace ashlar::cpu
