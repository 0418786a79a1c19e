#include "runtime/mcu/c99/quantize8.h"

#include "runtime/mcu/c99/each_element.h"
#include "runtime/mcu/c99/round8.h"

void ashlar_quantize8(const ashlar_quantize8_shape* shape, const void* src, void* dst) {
  ASHLAR_EACH_ELEMENT(
      shape, float, uint8_t,
      (uint8_t)(ashlar_round8(*from / shape->scale, shape->low, shape->high) + shape->zero_point));
}
