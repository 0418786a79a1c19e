#include "runtime/mcu/c99/conv8_part.h"

#include "runtime/mcu/c99/conv8_core.h"

void ashlar_conv8_part(const ashlar_conv8_part_shape* shape, const void* src, const void* filter,
                       const void* bias, const void* factors, const void* before, void* dst) {
  ashlar_conv8_image(&shape->convolution, NULL, shape, src, filter, bias, factors, before, dst);
}
