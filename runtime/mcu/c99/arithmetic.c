#include "runtime/mcu/c99/arithmetic.h"

#include "runtime/mcu/c99/clamp.h"
#include "runtime/mcu/c99/each_element.h"
#include "runtime/mcu/c99/round.h"
#include "runtime/mcu/c99/sqrt.h"

static float ashlar_arithmetic_of(const ashlar_unary_shape* s, float x) {
  switch (s->function) {
    case ASHLAR_ABS:
      return ashlar_with_sign(x, 1.0f);
    case ASHLAR_CEIL:
      return ashlar_ceil(x);
    case ASHLAR_CLAMP:
      return ashlar_clamp(x, s->p, s->q);
    case ASHLAR_FLOOR:
      return ashlar_floor(x);
    case ASHLAR_HARD_SIGMOID:
      return ashlar_clamp(x * s->p + s->q, 0.0f, 1.0f);
    case ASHLAR_HARD_SWISH:
      return x * (ashlar_clamp(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6));
    case ASHLAR_LEAKY_RELU:
      return x < 0 ? x * s->p : x;
    case ASHLAR_NEGATE:
      return -x;
    case ASHLAR_RINT:
      return ashlar_rint(x);
    case ASHLAR_SIGN:
      return x > 0 ? 1.0f : x < 0 ? -1.0f : x;
    case ASHLAR_SQRT:
      return ashlar_sqrt(x);
    default:
      return x > s->p ? x : 0.0f;
  }
}

void ashlar_arithmetic(const ashlar_unary_shape* shape, const void* src, void* dst) {
  ASHLAR_EACH_ELEMENT(shape, float, float, ashlar_arithmetic_of(shape, *from));
}
