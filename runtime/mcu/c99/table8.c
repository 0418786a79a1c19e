#include "runtime/mcu/c99/table8.h"

#include "runtime/mcu/c99/rows.h"

void ashlar_table8(const ashlar_table8_shape* shape, const void* src, const void* table,
                   void* dst) {
  const int32_t inner = ASHLAR_AXES - 1, count = shape->walk.sizes[inner];
  const int32_t rows = ashlar_rows_of(&shape->walk);
  int32_t row, i;
  for (row = 0; row < rows; ++row) {
    const uint8_t* from = (const uint8_t*)src + ashlar_row_start(&shape->walk, &shape->src, row);
    uint8_t* to = (uint8_t*)dst + ashlar_row_start(&shape->walk, &shape->dst, row);
    for (i = 0; i < count; ++i) {
      *to = ((const uint8_t*)table)[*from];
      from += shape->src.by_axis[inner];
      to += shape->dst.by_axis[inner];
    }
  }
}
