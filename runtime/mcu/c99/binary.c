#include "runtime/mcu/c99/binary.h"

#include "runtime/mcu/c99/rows.h"

// Returns the positive one of two zeros; NaN if a or b is.
static float ashlar_maximum(float a, float b) {
  return a < b || b != b ? b : a == 0 && b == 0 ? a + b : a;
}

static float ashlar_binary_of(int32_t function, float a, float b) {
  switch (function) {
    case ASHLAR_ADD:
      return a + b;
    case ASHLAR_DIVIDE:
      return a / b;
    case ASHLAR_EQUAL:
      return a == b ? 1.0f : 0.0f;
    case ASHLAR_LESS:
      return a < b ? 1.0f : 0.0f;
    case ASHLAR_LESS_OR_EQUAL:
      return a <= b ? 1.0f : 0.0f;
    case ASHLAR_MAXIMUM:
      return ashlar_maximum(a, b);
    case ASHLAR_MINIMUM:
      return -ashlar_maximum(-a, -b);
    case ASHLAR_MULTIPLY:
      return a * b;
    case ASHLAR_PRELU:
      return a < 0 ? a * b : a;
    default:
      return a - b;
  }
}

void ashlar_binary(const ashlar_binary_shape* shape, const void* a, const void* b, void* dst) {
  const ashlar_binary_shape* const s = shape;
  const int32_t inner = ASHLAR_AXES - 1, count = s->walk.sizes[inner];
  const int32_t rows = ashlar_rows_of(&s->walk);
  int32_t row, i;
  for (row = 0; row < rows; ++row) {
    const float* left = (const float*)a + ashlar_row_start(&s->walk, &s->a, row);
    const float* right = (const float*)b + ashlar_row_start(&s->walk, &s->b, row);
    float* to = (float*)dst + ashlar_row_start(&s->walk, &s->dst, row);
    for (i = 0; i < count; ++i) {
      const float result = ashlar_binary_of(s->function, *left, *right);
      *to = result < s->low ? s->low : result;
      left += s->a.by_axis[inner];
      right += s->b.by_axis[inner];
      to += s->dst.by_axis[inner];
    }
  }
}
