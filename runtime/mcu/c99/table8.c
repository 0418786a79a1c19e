#include "runtime/mcu/c99/table8.h"

#include "runtime/mcu/c99/each_element.h"

void ashlar_table8(const ashlar_table8_shape* shape, const void* src, const void* table,
                   void* dst) {
  ASHLAR_EACH_ELEMENT(shape, uint8_t, uint8_t, ((const uint8_t*)table)[*from]);
}
