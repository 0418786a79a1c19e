#include "runtime/mcu/c99/pick.h"

#include "runtime/mcu/c99/rows.h"

void ashlar_pick(const ashlar_pick_shape* shape, const void* src, const void* places, void* dst) {
  const int32_t* const first = (const int32_t*)places;
  const int32_t rows = ashlar_rows_of(&shape->walk);
  const int32_t count = shape->walk.sizes[ASHLAR_AXES - 1], unit = shape->unit;
  unsigned char* to = (unsigned char*)dst;
  int32_t row, axis, i, byte;
  for (row = 0; row < rows; ++row) {
    const int32_t* of_axis = first;
    int32_t rest = row, outer = rows, start = 0;
    for (axis = 0; axis < ASHLAR_AXES - 1; ++axis) {
      outer /= shape->walk.sizes[axis];
      start += of_axis[rest / outer];
      rest %= outer;
      of_axis += shape->walk.sizes[axis];
    }
    for (i = 0; i < count; ++i, to += unit) {
      const unsigned char* const from = (const unsigned char*)src + (start + of_axis[i]) * unit;
      for (byte = 0; byte < unit; ++byte) to[byte] = from[byte];
    }
  }
}
