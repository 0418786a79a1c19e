#include "runtime/mcu/c99/transcendental.h"

#include "runtime/mcu/c99/each_element.h"
#include "runtime/mcu/c99/exp.h"
#include "runtime/mcu/c99/log.h"

// Not inlined, because several functions call it.
ASHLAR_APART static float ashlar_power(float x) { return ashlar_exp(x); }

// e^x - 1 for x <= 0; a series near 0, where the difference would cancel.
static float ashlar_expm1(float x) {
  float y = 1.0f / 40320;
  if (x < -0.5f) return ashlar_power(x) - 1.0f;
  y = y * x + 1.0f / 5040;
  y = y * x + 1.0f / 720;
  y = y * x + 1.0f / 120;
  y = y * x + 1.0f / 24;
  y = y * x + 1.0f / 6;
  y = y * x + 0.5f;
  return x + x * x * y;
}

static float ashlar_tanh(float x) {
  const float magnitude = ashlar_with_sign(x, 1.0f);
  if (magnitude < 0.3f) {
    const float t = x * x;
    float y = 62.0f / 2835;
    y = y * t - 17.0f / 315;
    y = y * t + 2.0f / 15;
    y = y * t - 1.0f / 3;
    return x * (1.0f + t * y);
  }
  return ashlar_with_sign(1.0f - 2.0f / (ashlar_power(2.0f * magnitude) + 1.0f), x);
}

// From 1/2 on, the approximation 7.1.26 of Abramowitz and Stegun 1964, within 1.5e-7.
static float ashlar_erf(float x) {
  const float magnitude = ashlar_with_sign(x, 1.0f);
  const float s = x * x;
  float t, y;
  if (magnitude < 0.5f) {
    y = -1.0f / 1320;
    y = y * s + 1.0f / 216;
    y = y * s - 1.0f / 42;
    y = y * s + 1.0f / 10;
    y = y * s - 1.0f / 3;
    return 1.12837917f * (x * (1.0f + s * y));
  }
  t = 1.0f / (1.0f + 0.3275911f * magnitude);
  y = 1.061405429f;
  y = y * t - 1.453152027f;
  y = y * t + 1.421413741f;
  y = y * t - 0.284496736f;
  y = y * t + 0.254829592f;
  return ashlar_with_sign(1.0f - y * t * ashlar_power(-s), x);
}

static float ashlar_sigmoid(float x) { return 1.0f / (1.0f + ashlar_power(-x)); }

static float ashlar_softplus(float x) {
  return (x < 0 ? 0.0f : x) + ashlar_log1p(ashlar_power(-ashlar_with_sign(x, 1.0f)));
}

static float ashlar_transcendental_of(const ashlar_unary_shape* s, float x) {
  switch (s->function) {
    case ASHLAR_ELU:
      return x < 0 ? s->p * ashlar_expm1(x) : x;
    case ASHLAR_ERF:
      return ashlar_erf(x);
    case ASHLAR_EXP:
      return ashlar_power(x);
    case ASHLAR_GELU:
      return 0.5f * x * (1.0f + ashlar_erf(x * 0.707106781f));
    case ASHLAR_GELU_TANH:
      return 0.5f * x * (1.0f + ashlar_tanh(0.797884561f * (x + 0.044715f * x * x * x)));
    case ASHLAR_LOG:
      return ashlar_log(x);
    case ASHLAR_MISH:
      return x * ashlar_tanh(ashlar_softplus(x));
    case ASHLAR_SIGMOID:
      return ashlar_sigmoid(x);
    case ASHLAR_SILU:
      return x * ashlar_sigmoid(x);
    case ASHLAR_SOFTPLUS:
      return ashlar_softplus(x);
    default:
      return ashlar_tanh(x);
  }
}

void ashlar_transcendental(const ashlar_unary_shape* shape, const void* src, void* dst) {
  ASHLAR_EACH_ELEMENT(shape, float, float, ashlar_transcendental_of(shape, *from));
}
