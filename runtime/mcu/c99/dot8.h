// Sums of products of bytes: the innermost loop of convolutions.
#ifndef ASHLAR_RUNTIME_MCU_C99_DOT8_H_
#define ASHLAR_RUNTIME_MCU_C99_DOT8_H_

#include "runtime/mcu/c99/conv8_shape.h"
#include "runtime/mcu/c99/extensions.h"

// Weights are int8_t [fours of inputs, four sums, four inputs]. The first two functions take
// adjacent inputs, and return how many of them they have done.

#if defined(ASHLAR_MVE)
// Sixteen inputs at a time. Inputs are signed, and the zero point is subtracted in the end.
static inline int32_t ashlar_dot8_vectors(const uint8_t* x, int32_t flip, int32_t zero_point,
                                          const int8_t* weights, int32_t count, int32_t* sums) {
  const uint8x16_t signs = vdupq_n_u8((uint8_t)(flip ^ 0x80));
  int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, w0 = 0, w1 = 0, w2 = 0, w3 = 0, i;
  for (i = 0; i + 16 <= count; i += 16) {
    const int8x16_t inputs = vreinterpretq_s8_u8(veorq_u8(vldrbq_u8(x + i), signs));
    const int32x4x4_t by_sum = vld4q_s32((const int32_t*)(const void*)(weights + 4 * i));
    const int8x16_t v0 = vreinterpretq_s8_s32(by_sum.val[0]);
    const int8x16_t v1 = vreinterpretq_s8_s32(by_sum.val[1]);
    const int8x16_t v2 = vreinterpretq_s8_s32(by_sum.val[2]);
    const int8x16_t v3 = vreinterpretq_s8_s32(by_sum.val[3]);
    s0 = vmladavaq_s8(s0, inputs, v0);
    s1 = vmladavaq_s8(s1, inputs, v1);
    s2 = vmladavaq_s8(s2, inputs, v2);
    s3 = vmladavaq_s8(s3, inputs, v3);
    w0 = vaddvaq_s8(w0, v0);
    w1 = vaddvaq_s8(w1, v1);
    w2 = vaddvaq_s8(w2, v2);
    w3 = vaddvaq_s8(w3, v3);
  }
  zero_point -= 0x80;
  sums[0] += s0 - zero_point * w0;
  sums[1] += s1 - zero_point * w1;
  sums[2] += s2 - zero_point * w2;
  sums[3] += s3 - zero_point * w3;
  return i;
}
#elif defined(ASHLAR_DOTPROD)
// Four inputs at a time. Inputs are signed, and the zero point is subtracted in the end.
static inline int32_t ashlar_dot8_vectors(const uint8_t* x, int32_t flip, int32_t zero_point,
                                          const int8_t* weights, int32_t count, int32_t* sums) {
  const int8x16_t signs = vdupq_n_s8((int8_t)(flip ^ 0x80)), ones = vdupq_n_s8(1);
  int32x4_t products = vld1q_s32(sums), of_weights = vdupq_n_s32(0);
  int32_t i;
  for (i = 0; i + 4 <= count; i += 4) {
    const int8x16_t w = vld1q_s8(weights + 4 * i);
    int32_t four;
    __builtin_memcpy(&four, x + i, sizeof(four));
    products = vdotq_s32(products, w, veorq_s8(vreinterpretq_s8_s32(vdupq_n_s32(four)), signs));
    of_weights = vdotq_s32(of_weights, w, ones);
  }
  vst1q_s32(sums, vmlsq_n_s32(products, of_weights, zero_point - 0x80));
  return i;
}
#else
static inline int32_t ashlar_dot8_vectors(const uint8_t* x, int32_t flip, int32_t zero_point,
                                          const int8_t* weights, int32_t count, int32_t* sums) {
  (void)x, (void)flip, (void)zero_point, (void)weights, (void)count, (void)sums;
  return 0;
}
#endif

// Adds the products of four inputs at a time.
static inline int32_t ashlar_dot8_fours(const uint8_t* x, int32_t flip, int32_t zero_point,
                                        const int8_t* w, int32_t count, int32_t* sums) {
  int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
  const uint8_t* const first = x;
  const uint8_t* const end = x + (count & ~3);
#ifdef ASHLAR_SIMD32
  const uint32_t flips = (uint32_t)flip * 0x1010101u;
  const uint32_t zero = ashlar_both_halves(-zero_point);
  for (; x != end; x += 4, w += 16) {
    const uint32_t inputs = ashlar_four_bytes(x) ^ flips;
    const uint32_t even = ashlar_add_even(zero, inputs), odd = ashlar_add_odd(zero, inputs);
#define ASHLAR_DOT8_SUM(sum, at)                                    \
  {                                                                 \
    const uint32_t four = ashlar_four_bytes(at);                    \
    sum = ashlar_add_products(even, ashlar_signed_even(four), sum); \
    sum = ashlar_add_products(odd, ashlar_signed_odd(four), sum);   \
  }
    ASHLAR_DOT8_SUM(s0, w)
    ASHLAR_DOT8_SUM(s1, w + 4)
    ASHLAR_DOT8_SUM(s2, w + 8)
    ASHLAR_DOT8_SUM(s3, w + 12)
#undef ASHLAR_DOT8_SUM
  }
#else
  for (; x != end; x += 4, w += 16) {
    int32_t input;
#define ASHLAR_DOT8_INPUT(i)          \
  input = (x[i] ^ flip) - zero_point; \
  s0 += input * w[i];                 \
  s1 += input * w[4 + i];             \
  s2 += input * w[8 + i];             \
  s3 += input * w[12 + i];
    ASHLAR_DOT8_INPUT(0)
    ASHLAR_DOT8_INPUT(1)
    ASHLAR_DOT8_INPUT(2)
    ASHLAR_DOT8_INPUT(3)
#undef ASHLAR_DOT8_INPUT
  }
#endif
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
  return (int32_t)(end - first);
}

// Adds to four sums the products of `count` inputs, of which `x` is the first, with the weights
// `first` and following. Not inlined, so that the sums stay in registers.
ASHLAR_APART static void ashlar_dot8(const ashlar_conv8_shape* s, const uint8_t* x,
                                     const int8_t* weights, int32_t first, int32_t count,
                                     int32_t* sums) {
  const int32_t step = s->src.channel, flip = s->src_flip, zero_point = s->src_zero_point;
  const int32_t end = first + count;
  if (step == 1 && first % 4 == 0) {
    int32_t done = ashlar_dot8_vectors(x, flip, zero_point, weights + 4 * first, count, sums);
    done += ashlar_dot8_fours(x + done, flip, zero_point, weights + 4 * (first + done),
                              count - done, sums);
    x += done;
    first += done;
  }
  for (; first != end; ++first, x += step) {
    const int32_t input = (*x ^ flip) - zero_point;
    const int8_t* const w = weights + 4 * first - 3 * (first % 4);
    sums[0] += input * w[0];
    sums[1] += input * w[4];
    sums[2] += input * w[8];
    sums[3] += input * w[12];
  }
}

#endif  // ASHLAR_RUNTIME_MCU_C99_DOT8_H_
