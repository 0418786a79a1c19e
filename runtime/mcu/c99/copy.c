#include "runtime/mcu/c99/copy.h"

#include "runtime/mcu/c99/rows.h"

void ashlar_copy(const ashlar_copy_shape* shape, const void* src, void* dst) {
  const int32_t inner = ASHLAR_AXES - 1, count = shape->walk.sizes[inner], unit = shape->unit;
  const int32_t rows = ashlar_rows_of(&shape->walk);
  int32_t row, i, byte;
  for (row = 0; row < rows; ++row) {
    const unsigned char* from =
        (const unsigned char*)src + ashlar_row_start(&shape->walk, &shape->src, row) * unit;
    unsigned char* to =
        (unsigned char*)dst + ashlar_row_start(&shape->walk, &shape->dst, row) * unit;
    if (rows == 1 && count == 1 && to > from) {
      for (byte = unit; byte > 0; --byte) to[byte - 1] = from[byte - 1];
      return;
    }
    for (i = 0; i < count; ++i) {
      for (byte = 0; byte < unit; ++byte) to[byte] = from[byte];
      from += shape->src.by_axis[inner] * unit;
      to += shape->dst.by_axis[inner] * unit;
    }
  }
}
