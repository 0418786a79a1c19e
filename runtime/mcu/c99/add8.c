#include "runtime/mcu/c99/add8.h"

#include "runtime/mcu/c99/round8.h"
#include "runtime/mcu/c99/rows.h"

void ashlar_add8(const ashlar_add8_shape* shape, const void* a, const void* b, void* dst) {
  const ashlar_add8_shape* const s = shape;
  const int32_t inner = ASHLAR_AXES - 1, count = s->walk.sizes[inner];
  const int32_t rows = ashlar_rows_of(&s->walk);
  int32_t row, i;
  for (row = 0; row < rows; ++row) {
    const uint8_t* left = (const uint8_t*)a + ashlar_row_start(&s->walk, &s->a, row);
    const uint8_t* right = (const uint8_t*)b + ashlar_row_start(&s->walk, &s->b, row);
    uint8_t* to = (uint8_t*)dst + ashlar_row_start(&s->walk, &s->dst, row);
    for (i = 0; i < count; ++i) {
      const int32_t x = (*left ^ s->a_flip) - s->a_zero_point;
      const int32_t y = (*right ^ s->b_flip) - s->b_zero_point;
      const float steps = s->fixed.shift > 0
                              ? ashlar_fixed_sum(&s->fixed, x, y)
                              : ((float)x * s->a_scale + (float)y * s->b_scale) / s->scale;
      *to = (uint8_t)(ashlar_round8(steps, s->low, s->high) + s->zero_point);
      left += s->a.by_axis[inner];
      right += s->b.by_axis[inner];
      to += s->dst.by_axis[inner];
    }
  }
}
