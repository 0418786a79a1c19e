#include "runtime/mcu/c99/matmul.h"

#include "runtime/mcu/c99/rows.h"

enum { ASHLAR_MATMUL_RUN = 256 };  // products added before their sum is

// Adds to four sums the products of `count` elements of x with four columns of b. Adds the products
// to each other first, so that long sums round less. Not inlined, so that sums stay in registers.
ASHLAR_APART static void ashlar_dot_columns(const ashlar_matmul_shape* s, const float* x,
                                            const float* b, int32_t columns, int32_t count,
                                            float* sums) {
  // Columns that are not there repeat the last one.
  const int32_t second = columns > 1 ? s->b_column : 0;
  const int32_t third = columns > 2 ? 2 * s->b_column : second;
  const int32_t fourth = columns > 3 ? 3 * s->b_column : third;
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (; count > 0; --count, x += s->a_column, b += s->b_row) {
    s0 += *x * b[0];
    s1 += *x * b[second];
    s2 += *x * b[third];
    s3 += *x * b[fourth];
  }
  sums[0] += s0;
  sums[1] += s1;
  sums[2] += s2;
  sums[3] += s3;
}

static void ashlar_matmul_one(const ashlar_matmul_shape* s, const float* a, const float* b,
                              const float* bias, float* dst) {
  int32_t row, column, k, lane;
  for (row = 0; row < s->m; ++row, a += s->a_row) {
    for (column = 0; column < s->n; column += 4) {
      const int32_t rest = s->n - column;
      const int32_t lanes = rest < 4 ? rest : 4;
      float sums[4] = {0, 0, 0, 0};
      for (k = 0; k < s->k; k += ASHLAR_MATMUL_RUN) {
        const int32_t left = s->k - k;
        ashlar_dot_columns(s, a + k * s->a_column, b + k * s->b_row + column * s->b_column, lanes,
                           left < ASHLAR_MATMUL_RUN ? left : ASHLAR_MATMUL_RUN, sums);
      }
      for (lane = 0; lane < lanes; ++lane) {
        const float sum = bias == NULL ? sums[lane] : sums[lane] + bias[column + lane];
        *dst++ = sum < s->low ? s->low : sum;
      }
    }
  }
}

void ashlar_matmul(const ashlar_matmul_shape* shape, const void* a, const void* b, const void* bias,
                   void* dst) {
  const ashlar_matmul_shape* const s = shape;
  const int32_t inner = ASHLAR_AXES - 1;
  const int32_t rows = ashlar_rows_of(&s->walk);
  float* to = (float*)dst;
  int32_t row, i;
  for (row = 0; row < rows; ++row) {
    const float* left = (const float*)a + ashlar_row_start(&s->walk, &s->a, row);
    const float* right = (const float*)b + ashlar_row_start(&s->walk, &s->b, row);
    for (i = 0; i < s->walk.sizes[inner]; ++i, to += s->m * s->n) {
      ashlar_matmul_one(s, left, right, (const float*)bias, to);
      left += s->a.by_axis[inner];
      right += s->b.by_axis[inner];
    }
  }
}
