// 8-bit types as kernels see them.
#ifndef ASHLAR_RUNTIME_CUDA_BYTE_TYPE_H_
#define ASHLAR_RUNTIME_CUDA_BYTE_TYPE_H_

#include "graph/shape.h"
#include "opr/base/output_type.h"
#include "runtime/cuda/quantized_code.h"

namespace ashlar::cuda {

// `type` has 8 bits and one scale.
inline ByteType ByteTypeOf(const TensorType& type) {
  return {type.dtype == DType::kQuantizedS8, type.quantization.zero_point(),
          type.quantization.scale(), LeastOf(type.dtype), MostOf(type.dtype)};
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_BYTE_TYPE_H_
