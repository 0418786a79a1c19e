// Functions of single bytes, by table lookup.
#ifndef ASHLAR_RUNTIME_MCU_C99_TABLE8_H_
#define ASHLAR_RUNTIME_MCU_C99_TABLE8_H_

#include "runtime/mcu/c99/walk.h"

typedef struct {
  ashlar_walk walk;
  ashlar_strides src, dst;
} ashlar_table8_shape;

// Table: the result for each of 256 bytes. `dst` may be `src`.
void ashlar_table8(const ashlar_table8_shape* shape, const void* src, const void* table, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_TABLE8_H_
