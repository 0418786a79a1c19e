#include "runtime/mcu/c99/dequantize8.h"

#include "runtime/mcu/c99/each_element.h"

void ashlar_dequantize8(const ashlar_dequantize8_shape* shape, const void* src, void* dst) {
  ASHLAR_EACH_ELEMENT(shape, uint8_t, float,
                      (float)((*from ^ shape->src_flip) - shape->src_zero_point) * shape->scale);
}
