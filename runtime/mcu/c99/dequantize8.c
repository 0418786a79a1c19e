#include "runtime/mcu/c99/dequantize8.h"

#include "runtime/mcu/c99/rows.h"

void ashlar_dequantize8(const ashlar_dequantize8_shape* shape, const void* src, void* dst) {
  const ashlar_dequantize8_shape* const s = shape;
  const int32_t inner = ASHLAR_AXES - 1, count = s->walk.sizes[inner];
  const int32_t rows = ashlar_rows_of(&s->walk);
  int32_t row, i;
  for (row = 0; row < rows; ++row) {
    const uint8_t* from = (const uint8_t*)src + ashlar_row_start(&s->walk, &s->src, row);
    float* to = (float*)dst + ashlar_row_start(&s->walk, &s->dst, row);
    for (i = 0; i < count; ++i) {
      *to = (float)((*from ^ s->src_flip) - s->src_zero_point) * s->scale;
      from += s->src.by_axis[inner];
      to += s->dst.by_axis[inner];
    }
  }
}
