// Sparse tensors of TensorFlow Lite files.
#ifndef ASHLAR_SERIALIZATION_TFLITE_SPARSE_H_
#define ASHLAR_SERIALIZATION_TFLITE_SPARSE_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/tensor.h"
#include "serialization/tflite/schema_generated.h"

namespace ashlar {

// Returns the elements, of which `bytes` holds some, and zeros elsewhere. InvalidArgument if they
// do not fit the shape.
absl::StatusOr<HostTensor> DensifyTflite(const tflite::Sparsity& sparsity, DType dtype,
                                         const Shape& shape, absl::Span<const uint8_t> bytes);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_TFLITE_SPARSE_H_
