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
      const float x = (float)((*left ^ s->a_flip) - s->a_zero_point) * s->a_scale;
      const float y = (float)((*right ^ s->b_flip) - s->b_zero_point) * s->b_scale;
      *to = (uint8_t)(ashlar_round8((x + y) / s->scale, s->low, s->high) + s->zero_point);
      left += s->a.by_axis[inner];
      right += s->b.by_axis[inner];
      to += s->dst.by_axis[inner];
    }
  }
}
