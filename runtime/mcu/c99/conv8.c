#include "runtime/mcu/c99/conv8.h"

#include "runtime/mcu/c99/conv8_core.h"

void ashlar_conv8(const ashlar_conv8_shape* shape, const void* src, const void* filter,
                  const void* bias, const void* factors, void* dst) {
  ashlar_conv8_image(shape, NULL, NULL, src, filter, bias, factors, NULL, dst);
}
