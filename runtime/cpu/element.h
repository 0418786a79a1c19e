// Elements of any dtype as numbers.
#ifndef ASHLAR_RUNTIME_CPU_ELEMENT_H_
#define ASHLAR_RUNTIME_CPU_ELEMENT_H_

#include <cstdint>

#include "graph/dtype.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

// row[i] is element offset + i * stride of `data`. Int64 beyond 2^53 is rounded.
using LoadRowFunction = void (*)(const void* data, int64_t offset, int64_t stride, int64_t n,
                                 double* row);
// The inverse, as HostTensor::Set: integers are rounded towards zero and saturated.
using StoreRowFunction = void (*)(const double* row, int64_t n, void* data, int64_t offset,
                                  int64_t stride);

LoadRowFunction RowLoader(DType dtype, Isa isa);
StoreRowFunction RowStorer(DType dtype, Isa isa);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_ELEMENT_H_
