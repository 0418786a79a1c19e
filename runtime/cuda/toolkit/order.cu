// Launches of TopK.
#include "runtime/cuda/order_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

ASHLAR_ELEMENT_KERNEL(TopKKernel, TopKParams, TopKAt)

template <typename T>
LaunchError StartTopK(const TopKParams& p, void* stream) {
  return StartElements(TopKKernel<T>, p, stream);
}

}  // namespace

LaunchError Launch(const TopKParams& p, void* stream) {
  switch (p.dtype) {
    case Scalar::kInt64:
      return StartTopK<int64_t>(p, stream);
    case Scalar::kInt32:
      return StartTopK<int32_t>(p, stream);
    case Scalar::kInt8:
      return StartTopK<int8_t>(p, stream);
    case Scalar::kUint8:
      return StartTopK<uint8_t>(p, stream);
    case Scalar::kUint16:
      return StartTopK<uint16_t>(p, stream);
    case Scalar::kInt16:
      return StartTopK<int16_t>(p, stream);
    case Scalar::kUint32:
      return StartTopK<uint32_t>(p, stream);
    default:
      return WithReal(p.dtype, [&](auto type) { return StartTopK<decltype(type)>(p, stream); });
  }
}

}  // namespace ashlar::cuda
