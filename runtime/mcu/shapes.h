// All functions of c99/, and the fields of the structs that they take, in declaration order.
#ifndef ASHLAR_RUNTIME_MCU_SHAPES_H_
#define ASHLAR_RUNTIME_MCU_SHAPES_H_

extern "C" {
#include "runtime/mcu/c99/add8.h"
#include "runtime/mcu/c99/arithmetic.h"
#include "runtime/mcu/c99/binary.h"
#include "runtime/mcu/c99/conv.h"
#include "runtime/mcu/c99/conv8.h"
#include "runtime/mcu/c99/conv8_part.h"
#include "runtime/mcu/c99/conv8_part_shape.h"
#include "runtime/mcu/c99/conv8_shape.h"
#include "runtime/mcu/c99/conv8_sum.h"
#include "runtime/mcu/c99/conv8_sum_shape.h"
#include "runtime/mcu/c99/conv_shape.h"
#include "runtime/mcu/c99/copy.h"
#include "runtime/mcu/c99/depthwise.h"
#include "runtime/mcu/c99/depthwise8.h"
#include "runtime/mcu/c99/dequantize8.h"
#include "runtime/mcu/c99/interpolate.h"
#include "runtime/mcu/c99/matmul.h"
#include "runtime/mcu/c99/max_pool.h"
#include "runtime/mcu/c99/max_pool8.h"
#include "runtime/mcu/c99/mean_pool.h"
#include "runtime/mcu/c99/mean_pool8.h"
#include "runtime/mcu/c99/pick.h"
#include "runtime/mcu/c99/pool_rows.h"
#include "runtime/mcu/c99/pool_rows8.h"
#include "runtime/mcu/c99/pool_shape.h"
#include "runtime/mcu/c99/quantize8.h"
#include "runtime/mcu/c99/reduce.h"
#include "runtime/mcu/c99/resize8.h"
#include "runtime/mcu/c99/softmax.h"
#include "runtime/mcu/c99/table8.h"
#include "runtime/mcu/c99/ternary.h"
#include "runtime/mcu/c99/transcendental.h"
#include "runtime/mcu/c99/unary_shape.h"
}

// Two macros define a function that passes each field and its name to a visitor.
#define ASHLAR_FIELDS(Struct) \
  template <typename V>       \
  constexpr void VisitFields(const Struct& s, V&& v)
#define ASHLAR_FIELD(name) v(#name, s.name)

ASHLAR_FIELDS(ashlar_axis) {
  ASHLAR_FIELD(input), ASHLAR_FIELD(output), ASHLAR_FIELD(window), ASHLAR_FIELD(stride),
      ASHLAR_FIELD(dilation), ASHLAR_FIELD(padding);
}
ASHLAR_FIELDS(ashlar_steps) {
  ASHLAR_FIELD(image), ASHLAR_FIELD(row), ASHLAR_FIELD(column), ASHLAR_FIELD(channel);
}
ASHLAR_FIELDS(ashlar_walk) { ASHLAR_FIELD(sizes); }
ASHLAR_FIELDS(ashlar_strides) { ASHLAR_FIELD(by_axis); }
ASHLAR_FIELDS(ashlar_conv8_shape) {
  ASHLAR_FIELD(batch), ASHLAR_FIELD(groups), ASHLAR_FIELD(in_channels), ASHLAR_FIELD(out_channels),
      ASHLAR_FIELD(h), ASHLAR_FIELD(w), ASHLAR_FIELD(src), ASHLAR_FIELD(dst),
      ASHLAR_FIELD(src_flip), ASHLAR_FIELD(src_zero_point), ASHLAR_FIELD(low), ASHLAR_FIELD(high),
      ASHLAR_FIELD(zero_point);
}
ASHLAR_FIELDS(ashlar_conv8_part_shape) {
  ASHLAR_FIELD(convolution), ASHLAR_FIELD(z), ASHLAR_FIELD(unfinished);
}
ASHLAR_FIELDS(ashlar_fixed_factors) { ASHLAR_FIELD(a), ASHLAR_FIELD(b), ASHLAR_FIELD(shift); }
ASHLAR_FIELDS(ashlar_conv8_sum_shape) {
  ASHLAR_FIELD(convolution), ASHLAR_FIELD(z), ASHLAR_FIELD(z_flip), ASHLAR_FIELD(z_zero_point),
      ASHLAR_FIELD(sum_scale), ASHLAR_FIELD(z_scale), ASHLAR_FIELD(scale), ASHLAR_FIELD(fixed),
      ASHLAR_FIELD(low), ASHLAR_FIELD(high), ASHLAR_FIELD(zero_point);
}
#define ASHLAR_POOL_FIELDS                                                       \
  ASHLAR_FIELD(batch), ASHLAR_FIELD(channels), ASHLAR_FIELD(h), ASHLAR_FIELD(w), \
      ASHLAR_FIELD(src), ASHLAR_FIELD(dst)
ASHLAR_FIELDS(ashlar_max_pool8_shape) { ASHLAR_POOL_FIELDS, ASHLAR_FIELD(src_flip); }
ASHLAR_FIELDS(ashlar_mean_pool8_shape) {
  ASHLAR_POOL_FIELDS, ASHLAR_FIELD(src_flip), ASHLAR_FIELD(src_zero_point), ASHLAR_FIELD(factor),
      ASHLAR_FIELD(src_scale), ASHLAR_FIELD(scale), ASHLAR_FIELD(low), ASHLAR_FIELD(high),
      ASHLAR_FIELD(zero_point);
}
ASHLAR_FIELDS(ashlar_table8_shape) { ASHLAR_FIELD(walk), ASHLAR_FIELD(src), ASHLAR_FIELD(dst); }
ASHLAR_FIELDS(ashlar_add8_shape) {
  ASHLAR_FIELD(walk), ASHLAR_FIELD(a), ASHLAR_FIELD(b), ASHLAR_FIELD(dst), ASHLAR_FIELD(a_flip),
      ASHLAR_FIELD(a_zero_point), ASHLAR_FIELD(b_flip), ASHLAR_FIELD(b_zero_point),
      ASHLAR_FIELD(a_scale), ASHLAR_FIELD(b_scale), ASHLAR_FIELD(scale), ASHLAR_FIELD(fixed),
      ASHLAR_FIELD(low), ASHLAR_FIELD(high), ASHLAR_FIELD(zero_point);
}
ASHLAR_FIELDS(ashlar_quantize8_shape) {
  ASHLAR_FIELD(walk), ASHLAR_FIELD(src), ASHLAR_FIELD(dst), ASHLAR_FIELD(scale), ASHLAR_FIELD(low),
      ASHLAR_FIELD(high), ASHLAR_FIELD(zero_point);
}
ASHLAR_FIELDS(ashlar_dequantize8_shape) {
  ASHLAR_FIELD(walk), ASHLAR_FIELD(src), ASHLAR_FIELD(dst), ASHLAR_FIELD(src_flip),
      ASHLAR_FIELD(src_zero_point), ASHLAR_FIELD(scale);
}
ASHLAR_FIELDS(ashlar_copy_shape) {
  ASHLAR_FIELD(walk), ASHLAR_FIELD(src), ASHLAR_FIELD(dst), ASHLAR_FIELD(unit);
}
ASHLAR_FIELDS(ashlar_pick_shape) { ASHLAR_FIELD(walk), ASHLAR_FIELD(unit); }
ASHLAR_FIELDS(ashlar_softmax_shape) {
  ASHLAR_FIELD(outer), ASHLAR_FIELD(axis), ASHLAR_FIELD(inner);
}
ASHLAR_FIELDS(ashlar_conv_shape) {
  ASHLAR_FIELD(batch), ASHLAR_FIELD(groups), ASHLAR_FIELD(in_channels), ASHLAR_FIELD(out_channels),
      ASHLAR_FIELD(h), ASHLAR_FIELD(w), ASHLAR_FIELD(src), ASHLAR_FIELD(z), ASHLAR_FIELD(dst),
      ASHLAR_FIELD(low), ASHLAR_FIELD(high);
}
ASHLAR_FIELDS(ashlar_pool_rows_shape) {
  ASHLAR_FIELD(batch), ASHLAR_FIELD(channels), ASHLAR_FIELD(rows), ASHLAR_FIELD(columns),
      ASHLAR_FIELD(src), ASHLAR_FIELD(dst), ASHLAR_FIELD(maxima), ASHLAR_FIELD(count);
}
ASHLAR_FIELDS(ashlar_pool_rows8_shape) {
  ASHLAR_FIELD(strip), ASHLAR_FIELD(src_flip), ASHLAR_FIELD(src_zero_point), ASHLAR_FIELD(factor),
      ASHLAR_FIELD(src_scale), ASHLAR_FIELD(scale), ASHLAR_FIELD(low), ASHLAR_FIELD(high),
      ASHLAR_FIELD(zero_point);
}
ASHLAR_FIELDS(ashlar_pool_shape) { ASHLAR_POOL_FIELDS, ASHLAR_FIELD(count); }
ASHLAR_FIELDS(ashlar_matmul_shape) {
  ASHLAR_FIELD(walk), ASHLAR_FIELD(a), ASHLAR_FIELD(b), ASHLAR_FIELD(m), ASHLAR_FIELD(k),
      ASHLAR_FIELD(n), ASHLAR_FIELD(a_row), ASHLAR_FIELD(a_column), ASHLAR_FIELD(b_row),
      ASHLAR_FIELD(b_column), ASHLAR_FIELD(low);
}
ASHLAR_FIELDS(ashlar_unary_shape) {
  ASHLAR_FIELD(walk), ASHLAR_FIELD(src), ASHLAR_FIELD(dst), ASHLAR_FIELD(function), ASHLAR_FIELD(p),
      ASHLAR_FIELD(q);
}
ASHLAR_FIELDS(ashlar_binary_shape) {
  ASHLAR_FIELD(walk), ASHLAR_FIELD(a), ASHLAR_FIELD(b), ASHLAR_FIELD(dst), ASHLAR_FIELD(function),
      ASHLAR_FIELD(low);
}
ASHLAR_FIELDS(ashlar_ternary_shape) {
  ASHLAR_FIELD(walk), ASHLAR_FIELD(a), ASHLAR_FIELD(b), ASHLAR_FIELD(c), ASHLAR_FIELD(dst),
      ASHLAR_FIELD(function);
}
ASHLAR_FIELDS(ashlar_interpolate_shape) {
  ASHLAR_FIELD(outer), ASHLAR_FIELD(y), ASHLAR_FIELD(y_input), ASHLAR_FIELD(y_taps),
      ASHLAR_FIELD(middle), ASHLAR_FIELD(x), ASHLAR_FIELD(x_input), ASHLAR_FIELD(x_taps),
      ASHLAR_FIELD(inner), ASHLAR_FIELD(outside);
}
ASHLAR_FIELDS(ashlar_resize8_shape) {
  ASHLAR_FIELD(outer), ASHLAR_FIELD(y), ASHLAR_FIELD(y_input), ASHLAR_FIELD(x),
      ASHLAR_FIELD(x_input), ASHLAR_FIELD(inner), ASHLAR_FIELD(src_flip);
}
ASHLAR_FIELDS(ashlar_reduce_shape) {
  ASHLAR_FIELD(outer), ASHLAR_FIELD(axis), ASHLAR_FIELD(inner), ASHLAR_FIELD(function),
      ASHLAR_FIELD(count);
}

#undef ASHLAR_POOL_FIELDS
#undef ASHLAR_FIELD
#undef ASHLAR_FIELDS

#endif  // ASHLAR_RUNTIME_MCU_SHAPES_H_
