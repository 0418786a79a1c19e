// Computes each element of a tensor from the element of another one.
#ifndef ASHLAR_RUNTIME_MCU_C99_EACH_ELEMENT_H_
#define ASHLAR_RUNTIME_MCU_C99_EACH_ELEMENT_H_

#include "runtime/mcu/c99/rows.h"

// Stores `expression` of `*from`, of type From, into the elements of `dst`, of type To, along the
// walk of shape `s`. A macro, because types and expressions differ.
#define ASHLAR_EACH_ELEMENT(s, From, To, expression)                                      \
  do {                                                                                    \
    const int32_t inner = ASHLAR_AXES - 1, count = (s)->walk.sizes[inner];                \
    const int32_t rows = ashlar_rows_of(&(s)->walk);                                      \
    int32_t row, i;                                                                       \
    for (row = 0; row < rows; ++row) {                                                    \
      const From* from = (const From*)src + ashlar_row_start(&(s)->walk, &(s)->src, row); \
      To* to = (To*)dst + ashlar_row_start(&(s)->walk, &(s)->dst, row);                   \
      for (i = 0; i < count; ++i) {                                                       \
        *to = expression;                                                                 \
        from += (s)->src.by_axis[inner];                                                  \
        to += (s)->dst.by_axis[inner];                                                    \
      }                                                                                   \
    }                                                                                     \
  } while (0)

#endif  // ASHLAR_RUNTIME_MCU_C99_EACH_ELEMENT_H_
