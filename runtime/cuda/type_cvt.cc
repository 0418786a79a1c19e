// TypeCvt, between any two dtypes.
#include "opr/type_cvt.h"

#include <array>
#include <optional>

#include "graph/status.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/quantized.h"
#include "runtime/cuda/transpose.h"
#include "runtime/cuda/type_cvt_code.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

absl::StatusOr<KernelList> MakeTypeCvt(const KernelRequest& request) {
  const TensorType &from = request.inputs[0], &to = request.outputs[0];
  if (to.shape.num_elements() == 0) return NoLaunch();
  const bool quantised = IsQuantized(from.dtype) || IsQuantized(to.dtype);
  // If both are stored as the same integer dtype, elements are copied below.
  if (quantised && StoredAs(from.dtype) != StoredAs(to.dtype)) {
    return QuantizedConversionKernels(request);
  }
  ASHLAR_RETURN_IF_ERROR(CheckComputed("input 0", StoredAs(from.dtype)));
  ASHLAR_RETURN_IF_ERROR(CheckComputed("the output", StoredAs(to.dtype)));
  Shape shape = to.shape;
  std::array<Strides, 2> strides = {StridesOver(to, shape), StridesOver(from, shape)};
  OrderByMemory(shape, strides);
  const bool alike = shape.rank() == 1 && strides[0][0] == strides[1][0];
  const std::optional<TransposeParams> transpose = TransposeOf(from, to);
  if (transpose && !alike) return TransposeKernel("convert", *transpose);
  ConvertParams params;
  params.from = ScalarOf(StoredAs(from.dtype));
  params.to = ScalarOf(StoredAs(to.dtype));
  const bool wide = from.dtype == DType::kFloat32 || to.dtype == DType::kFloat32;
  if (alike && wide && from.dtype != to.dtype && IsFloat(from.dtype) && IsFloat(to.dtype) &&
      to.shape.num_elements() % 4 == 0) {
    params.pack = 4;
    params.walk.extents.elements = to.shape.num_elements() / params.pack;
  } else {
    params.walk = MakeWalk<2>(shape, strides);
  }
  return OnlyLaunchOnFirst(params.pack > 1 ? "convert:packs" : "convert", params);
}

}  // namespace

void RegisterTypeCvtKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<TypeCvt>(MakeTypeCvt);
}

}  // namespace ashlar::cuda
