// Elements of any dtype as numbers: double, WrappingInt for integers and Bool, or WrappingUint for
// Uint64.
#ifndef ASHLAR_RUNTIME_CPU_ELEMENT_H_
#define ASHLAR_RUNTIME_CPU_ELEMENT_H_

#include <cstdint>

#include "graph/dtype.h"
#include "opr/base/wrapping_int.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

inline constexpr int64_t kFloatBytes = sizeof(float), kHalfBytes = sizeof(uint16_t);

// Loads `n` numbers: row[i] is element offset + i * stride of `data`.
template <typename Number>
using LoadRowOf = void (*)(const void* data, int64_t offset, int64_t stride, int64_t n,
                           Number* row);
// Stores numbers as HostTensor::Set and HostTensor::SetInteger do. Integer dtypes round doubles
// towards zero and saturate them; integers wrap around.
template <typename Number>
using StoreRowOf = void (*)(const Number* row, int64_t n, void* data, int64_t offset,
                            int64_t stride);
using LoadRowFunction = LoadRowOf<double>;
using StoreRowFunction = StoreRowOf<double>;

LoadRowFunction RowLoader(DType dtype, Isa isa);
StoreRowFunction RowStorer(DType dtype, Isa isa);
// For integer dtypes and Bool. A Uint64 keeps its bits.
LoadRowOf<WrappingInt> IntegerLoader(DType dtype, Isa isa);
StoreRowOf<WrappingInt> IntegerStorer(DType dtype, Isa isa);

// The functions that load and store rows of a dtype as the numbers with which kernels compute.
template <typename Number>
struct RowAccess {
  LoadRowOf<Number> load;
  StoreRowOf<Number> store;

  RowAccess(DType dtype, Isa isa);
};
template <>
inline RowAccess<double>::RowAccess(DType dtype, Isa isa)
    : load(RowLoader(dtype, isa)), store(RowStorer(dtype, isa)) {}
template <>
inline RowAccess<WrappingInt>::RowAccess(DType dtype, Isa isa)
    : load(IntegerLoader(dtype, isa)), store(IntegerStorer(dtype, isa)) {}
template <>
RowAccess<WrappingUint>::RowAccess(DType, Isa);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_ELEMENT_H_
