// Windows over images, in the form that the C functions take.
#ifndef ASHLAR_RUNTIME_MCU_WINDOWS_H_
#define ASHLAR_RUNTIME_MCU_WINDOWS_H_

#include "opr/base/window.h"
#include "runtime/mcu/shapes.h"

namespace ashlar::mcu {

inline ashlar_axis AxisOf(const WindowAxis& axis) {
  const auto number = [](int64_t value) { return static_cast<int32_t>(value); };
  return {number(axis.input),  number(axis.output),   number(axis.window),
          number(axis.stride), number(axis.dilation), number(axis.pad_begin)};
}

}  // namespace ashlar::mcu

#endif  // ASHLAR_RUNTIME_MCU_WINDOWS_H_
