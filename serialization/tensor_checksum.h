// The checksum of a tensor.
#ifndef ASHLAR_SERIALIZATION_TENSOR_CHECKSUM_H_
#define ASHLAR_SERIALIZATION_TENSOR_CHECKSUM_H_

#include <cstdint>

#include "graph/tensor.h"
#include "runtime/plan/record/packed_model.h"

namespace ashlar {

// Returns Checksum of the tensor's bytes, of which few are in memory at a time. Calls `done_with`,
// unless it is empty, after reading each piece.
uint64_t ChecksumOf(const HostTensor& tensor, const DoneWith& done_with = nullptr);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_TENSOR_CHECKSUM_H_
