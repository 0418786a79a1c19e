#include "runtime/mcu/c99/softmax.h"

#include "runtime/mcu/c99/exp.h"

void ashlar_softmax(const ashlar_softmax_shape* shape, const void* src, void* dst) {
  const int32_t step = shape->inner;
  int32_t outer, inner, i;
  for (outer = 0; outer < shape->outer; ++outer) {
    for (inner = 0; inner < shape->inner; ++inner) {
      const int32_t first = outer * shape->axis * step + inner;
      const float* const from = (const float*)src + first;
      float* const to = (float*)dst + first;
      float most = from[0], sum = 0;
      for (i = 1; i < shape->axis; ++i) {
        if (from[i * step] > most) most = from[i * step];
      }
      for (i = 0; i < shape->axis; ++i) {
        const float power = ashlar_exp(from[i * step] - most);
        to[i * step] = power;
        sum += power;
      }
      for (i = 0; i < shape->axis; ++i) to[i * step] = to[i * step] / sum;
    }
  }
}
