#include "runtime/mcu/c99/ternary.h"

#include "runtime/mcu/c99/rows.h"

void ashlar_ternary(const ashlar_ternary_shape* shape, const void* a, const void* b, const void* c,
                    void* dst) {
  const ashlar_ternary_shape* const s = shape;
  const int32_t inner = ASHLAR_AXES - 1, count = s->walk.sizes[inner];
  const int32_t rows = ashlar_rows_of(&s->walk);
  int32_t row, i;
  for (row = 0; row < rows; ++row) {
    const float* first = (const float*)a + ashlar_row_start(&s->walk, &s->a, row);
    const float* second = (const float*)b + ashlar_row_start(&s->walk, &s->b, row);
    const float* third = (const float*)c + ashlar_row_start(&s->walk, &s->c, row);
    float* to = (float*)dst + ashlar_row_start(&s->walk, &s->dst, row);
    for (i = 0; i < count; ++i) {
      if (s->function == ASHLAR_SELECT) {
        *to = *first != 0 ? *second : *third;
      } else {
        *to = *first * *second + *third;
      }
      first += s->a.by_axis[inner];
      second += s->b.by_axis[inner];
      third += s->c.by_axis[inner];
      to += s->dst.by_axis[inner];
    }
  }
}
