#include "runtime/mcu/c99/conv8_sum.h"

#include "runtime/mcu/c99/conv8_core.h"

void ashlar_conv8_sum(const ashlar_conv8_sum_shape* shape, const void* src, const void* filter,
                      const void* bias, const void* factors, const void* z, void* dst) {
  ashlar_conv8_image(&shape->convolution, shape, NULL, src, filter, bias, factors, z, dst);
}
