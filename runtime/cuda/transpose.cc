#include "runtime/cuda/transpose.h"

#include "runtime/cuda/walk.h"

namespace ashlar::cuda {

std::optional<TransposeParams> TransposeOf(const TensorType& from, const TensorType& to) {
  const bool to_last = from.format == Format::kDefault && to.format == Format::kNHWC;
  const bool to_rows = from.format == Format::kNHWC && to.format == Format::kDefault;
  if ((!to_last && !to_rows) || from.shape.rank() != 4) return std::nullopt;
  const int64_t bytes = SizeOf(to.dtype);
  const bool moves = from.dtype == to.dtype && (bytes == 2 || bytes == 4);
  const bool converts = from.dtype != to.dtype && IsFloat(from.dtype) && IsFloat(to.dtype) &&
                        (from.dtype == DType::kFloat32 || to.dtype == DType::kFloat32);
  if (!moves && !converts) return std::nullopt;
  const int64_t channels = to.shape[1], pixels = to.shape[2] * to.shape[3];
  TransposeParams params;
  params.batch = to.shape[0];
  params.rows = to_last ? channels : pixels;
  params.columns = to_last ? pixels : channels;
  // Moved elements are as any of their size.
  const Scalar moved = bytes == 2 ? Scalar::kFloat16 : Scalar::kFloat32;
  params.from = moves ? moved : ScalarOf(StoredAs(from.dtype));
  params.to = moves ? moved : ScalarOf(StoredAs(to.dtype));
  return params;
}

KernelList TransposeKernel(const std::string& work, const TransposeParams& params) {
  return OnlyLaunchOnFirst(work + (ByStrips(params) ? ":strips" : ":tiles"), params);
}

}  // namespace ashlar::cuda
