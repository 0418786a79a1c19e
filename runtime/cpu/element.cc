#include "runtime/cpu/element.h"

#include <algorithm>
#include <limits>

#include "graph/tensor.h"
#include "opr/integer_elemwise.h"
#include "runtime/cpu/isa.h"

namespace ashlar::cpu {
namespace {

template <typename T>
struct Plain {
  using Storage = T;
  static double Load(T value) { return static_cast<double>(value); }
  static T Store(double value) {
    if constexpr (std::numeric_limits<T>::is_integer) {
      constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
      constexpr double kHigh = static_cast<double>(std::numeric_limits<T>::max());
      if (value != value) return 0;
      if (value >= kHigh) return std::numeric_limits<T>::max();  // 2^63 - 1 is 2^63 as a double
      if (value <= kLow) return std::numeric_limits<T>::min();
    }
    return static_cast<T>(value);
  }
};
struct Half {
  using Storage = uint16_t;
  static double Load(uint16_t value) { return HalfToFloat(value); }
  static uint16_t Store(double value) { return FloatToHalf(static_cast<float>(value)); }
};
struct BFloat16 {
  using Storage = uint16_t;
  static double Load(uint16_t value) { return BFloat16ToFloat(value); }
  static uint16_t Store(double value) { return FloatToBFloat16(static_cast<float>(value)); }
};
struct Bool {
  using Storage = uint8_t;
  static double Load(uint8_t value) { return value; }
  static uint8_t Store(double value) { return value != 0; }
};

template <typename Element>
void LoadRow(const void* data, int64_t offset, int64_t stride, int64_t n, double* row) {
  const auto* from = static_cast<const typename Element::Storage*>(data) + offset;
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) row[i] = Element::Load(from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) row[i] = Element::Load(from[i * stride]);
  }
}

template <typename Element>
void StoreRow(const double* row, int64_t n, void* data, int64_t offset, int64_t stride) {
  auto* to = static_cast<typename Element::Storage*>(data) + offset;
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = Element::Store(row[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * stride] = Element::Store(row[i]);
  }
}

template <typename T, typename Integer = int64_t>
void LoadIntegers(const void* data, int64_t offset, int64_t stride, int64_t n,
                  Wrapping<Integer>* row) {
  const T* const from = static_cast<const T*>(data) + offset;
  if (stride == 0) {
    std::fill_n(row, n, static_cast<Integer>(*from));
  } else if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) row[i] = static_cast<Integer>(from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) row[i] = static_cast<Integer>(from[i * stride]);
  }
}

template <typename T, typename Integer = int64_t>
void StoreIntegers(const Wrapping<Integer>* row, int64_t n, void* data, int64_t offset,
                   int64_t stride) {
  T* const to = static_cast<T*>(data) + offset;
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(row[i].value);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * stride] = static_cast<T>(row[i].value);
  }
}

// Calls visit.template operator()<Element>() for the dtype.
template <typename Visit>
auto WithElement(DType dtype, const Visit& visit) {
  switch (StoredAs(dtype)) {
    case DType::kFloat32:
      return visit.template operator()<Plain<float>>();
    case DType::kFloat64:
      return visit.template operator()<Plain<double>>();
    case DType::kFloat16:
      return visit.template operator()<Half>();
    case DType::kBFloat16:
      return visit.template operator()<BFloat16>();
    case DType::kInt64:
      return visit.template operator()<Plain<int64_t>>();
    case DType::kInt32:
      return visit.template operator()<Plain<int32_t>>();
    case DType::kInt8:
      return visit.template operator()<Plain<int8_t>>();
    case DType::kUint16:
      return visit.template operator()<Plain<uint16_t>>();
    case DType::kInt16:
      return visit.template operator()<Plain<int16_t>>();
    case DType::kUint32:
      return visit.template operator()<Plain<uint32_t>>();
    case DType::kUint64:
      return visit.template operator()<Plain<uint64_t>>();
    case DType::kUint8:
    case DType::kByte:
      return visit.template operator()<Plain<uint8_t>>();
    default:
      break;
  }
  return visit.template operator()<Bool>();
}

}  // namespace

LoadRowFunction RowLoader(DType dtype, Isa isa) {
  return WithElement(dtype, [isa]<typename Element>() {
    return LoadRowFunction(Versions<LoadRow<Element>>::For(isa));
  });
}

StoreRowFunction RowStorer(DType dtype, Isa isa) {
  return WithElement(dtype, [isa]<typename Element>() {
    return StoreRowFunction(Versions<StoreRow<Element>>::For(isa));
  });
}

LoadRowOf<WrappingInt> IntegerLoader(DType dtype, Isa isa) {
  return WithInteger(StoredAs(dtype), [isa]<typename T>() -> LoadRowOf<WrappingInt> {
    return NarrowVersions<LoadIntegers<T, int64_t>>::For(isa);
  });
}

StoreRowOf<WrappingInt> IntegerStorer(DType dtype, Isa isa) {
  if (dtype == DType::kBool) return NarrowVersions<StoreIntegers<bool, int64_t>>::For(isa);
  return WithInteger(StoredAs(dtype), [isa]<typename T>() -> StoreRowOf<WrappingInt> {
    return NarrowVersions<StoreIntegers<T, int64_t>>::For(isa);
  });
}

template <>
RowAccess<WrappingUint>::RowAccess(DType, Isa)
    : load(LoadIntegers<uint64_t, uint64_t>), store(StoreIntegers<uint64_t, uint64_t>) {}

}  // namespace ashlar::cpu
