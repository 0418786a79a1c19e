// TopK: one thread per element counts the elements that precede it, and stops at k. Compiles for
// the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_ORDER_CODE_H_
#define ASHLAR_RUNTIME_CUDA_ORDER_CODE_H_

#include "opr/base/comes_before.h"
#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"

namespace ashlar::cuda {

struct TopKParams {
  Extents extents;  // before the axis, along it, after it
  Scalar dtype = Scalar::kFloat32;
  int64_t k = 1;
  bool largest = true;
  const void* in = nullptr;
  void* values = nullptr;
  int64_t* indices = nullptr;
};
LaunchError Launch(const TopKParams& params, void* stream);

// Converts an element to a number with the same order.
ASHLAR_HD float Comparable(float value) { return value; }
ASHLAR_HD float Comparable(Half value) { return ToFloat(value); }
ASHLAR_HD float Comparable(BFloat16 value) { return ToFloat(value); }
ASHLAR_HD int64_t Comparable(int64_t value) { return value; }
ASHLAR_HD int64_t Comparable(int32_t value) { return value; }
ASHLAR_HD int64_t Comparable(int8_t value) { return value; }
ASHLAR_HD int64_t Comparable(uint8_t value) { return value; }
ASHLAR_HD int64_t Comparable(uint16_t value) { return value; }
ASHLAR_HD int64_t Comparable(int16_t value) { return value; }
ASHLAR_HD int64_t Comparable(uint32_t value) { return value; }

template <typename T>
ASHLAR_HD void TopKAt(const TopKParams& p, int64_t number) {
  const int64_t length = p.extents.sizes[1], step = p.extents.sizes[2];
  const int64_t behind = TakeCoordinate(p.extents, 2, number);
  const int64_t index = TakeCoordinate(p.extents, 1, number);
  const T* const column = static_cast<const T*>(p.in) + number * length * step + behind;
  const T element = column[index * step];
  const auto value = Comparable(element);
  int64_t place = 0;
  for (int64_t i = 0; i < length; ++i) {
    place += ComesBefore(p.largest, Comparable(column[i * step]), i, value, index);
    if (place >= p.k) return;
  }
  const int64_t to = (number * p.k + place) * step + behind;
  static_cast<T*>(p.values)[to] = element;
  p.indices[to] = index;
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_ORDER_CODE_H_
