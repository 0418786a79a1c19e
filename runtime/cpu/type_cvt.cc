// TypeCvt, between any two dtypes.
#include "opr/type_cvt.h"

#include "runtime/cpu/element.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kRow = 1024;  // elements

absl::StatusOr<KernelList> MakeTypeCvt(const KernelRequest& request) {
  const TensorType output = request.outputs[0];
  const auto loops = LoopsOver<2>(output, request.inputs, request.threads);
  const LoadRowFunction load = RowLoader(request.inputs[0].dtype, request.processor.isa);
  const StoreRowFunction store = RowStorer(output.dtype, request.processor.isa);
  const int threads = request.threads;
  return OnlyKernel("convert", [=](const KernelArgs& args) {
    for (const RowLoop<2>& loop : loops) {
      ParallelRows(loop, threads, kRow, [&](const std::array<int64_t, 2>& at, int64_t n) {
        double row[kRow];
        load(args.inputs[0], at[1], loop.strides[1].back(), n, row);
        store(row, n, args.outputs[0], at[0], loop.strides[0].back());
      });
    }
    ZeroChannelPadding(output, args.outputs[0]);
  });
}

}  // namespace

void RegisterTypeCvtKernels(KernelRegistry& registry) { registry.Register<TypeCvt>(MakeTypeCvt); }

}  // namespace ashlar::cpu
