#include "runtime/mcu/c99/resize8.h"

// Returns the element between two adjacent ones of a row, times 2^11.
static inline int32_t ashlar_between(const uint8_t* left, const uint8_t* right, int32_t weight,
                                     int32_t flip) {
  const int32_t first = *left ^ flip;
  return (first << 11) + ((*right ^ flip) - first) * weight;
}

void ashlar_resize8(const ashlar_resize8_shape* shape, const void* src, const void* places,
                    void* dst) {
  const ashlar_resize8_shape* const s = shape;
  const int32_t *const rows = (const int32_t*)places, *const columns = rows + s->y;
  const int32_t line = s->x_input * s->inner;
  const uint8_t* image = (const uint8_t*)src;
  uint8_t* to = (uint8_t*)dst;
  int32_t outer, y, x, inner;
  for (outer = 0; outer < s->outer; ++outer, image += s->y_input * line) {
    for (y = 0; y < s->y; ++y) {
      const int32_t row_weight = rows[y] & 4095;
      const uint8_t* const above = image + (rows[y] >> 12) * line;
      const uint8_t* const below = row_weight > 0 ? above + line : above;
      for (x = 0; x < s->x; ++x) {
        const int32_t weight = columns[x] & 4095;
        const int32_t left = (columns[x] >> 12) * s->inner;
        const int32_t right = weight > 0 ? left + s->inner : left;
        for (inner = 0; inner < s->inner; ++inner) {
          const uint8_t *const a = above + inner, *const b = below + inner;
          const int32_t top = ashlar_between(a + left, a + right, weight, s->src_flip);
          const int32_t bottom = ashlar_between(b + left, b + right, weight, s->src_flip);
          const int32_t sum = (top << 11) + (bottom - top) * row_weight + (1 << 21);
          *to++ = (uint8_t)((sum >> 22) ^ s->src_flip);
        }
      }
    }
  }
}
