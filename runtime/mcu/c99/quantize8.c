#include "runtime/mcu/c99/quantize8.h"

#include "runtime/mcu/c99/round8.h"
#include "runtime/mcu/c99/rows.h"

void ashlar_quantize8(const ashlar_quantize8_shape* shape, const void* src, void* dst) {
  const ashlar_quantize8_shape* const s = shape;
  const int32_t inner = ASHLAR_AXES - 1, count = s->walk.sizes[inner];
  const int32_t rows = ashlar_rows_of(&s->walk);
  int32_t row, i;
  for (row = 0; row < rows; ++row) {
    const float* from = (const float*)src + ashlar_row_start(&s->walk, &s->src, row);
    uint8_t* to = (uint8_t*)dst + ashlar_row_start(&s->walk, &s->dst, row);
    for (i = 0; i < count; ++i) {
      *to = (uint8_t)(ashlar_round8(*from / s->scale, s->low, s->high) + s->zero_point);
      from += s->src.by_axis[inner];
      to += s->dst.by_axis[inner];
    }
  }
}
