// Compares convolutions of bytes, compiled for the processor's extensions, with the same functions
// compiled from portable C (extensions_test.py renames these): random shapes, every byte.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/mcu/c99/conv8.h"
#include "runtime/mcu/c99/conv8_sum.h"
#include "runtime/mcu/c99/depthwise8.h"

void portable_conv8(const ashlar_conv8_shape* shape, const void* src, const void* filter,
                    const void* bias, const void* factors, void* dst);
void portable_conv8_sum(const ashlar_conv8_sum_shape* shape, const void* src, const void* filter,
                        const void* bias, const void* factors, const void* z, void* dst);
void portable_depthwise8(const ashlar_conv8_shape* shape, const void* src, const void* filter,
                         const void* bias, const void* factors, void* dst);

enum { kShapes = 300, kBytes = 8192, kChannels = 128 };

static uint32_t state = 1;

static int32_t random_below(int32_t bound) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return (int32_t)((state >> 8) % (uint32_t)bound);
}

static unsigned char src[kBytes], z[kBytes], dst[2][kBytes];
static union {
  int32_t align;
  signed char bytes[8 * kBytes];
} filter;
static int32_t bias[kChannels];
static float factors[kChannels];

static void fill(void* to, int32_t bytes) {
  int32_t i;
  for (i = 0; i < bytes; ++i) ((unsigned char*)to)[i] = (unsigned char)random_below(256);
}

static ashlar_axis random_axis(void) {
  ashlar_axis axis;
  axis.window = 1 + random_below(4);
  axis.dilation = 1 + random_below(2);
  axis.stride = 1 + random_below(2);
  axis.padding = random_below(axis.window);
  axis.input = (axis.window - 1) * axis.dilation + 1 + random_below(4);
  axis.output =
      (axis.input + 2 * axis.padding - (axis.window - 1) * axis.dilation - 1) / axis.stride + 1;
  return axis;
}

// Steps of an image of such a size; channels are adjacent or, at times, planes.
static ashlar_steps random_steps(int32_t rows, int32_t columns, int32_t channels) {
  ashlar_steps steps;
  const int planes = random_below(4) == 0;
  steps.image = rows * columns * channels;
  steps.channel = planes ? rows * columns : 1;
  steps.column = planes ? 1 : channels;
  steps.row = columns * steps.column;
  return steps;
}

// Returns whether both versions of a function computed the same.
static int compare(int depthwise, int sum) {
  ashlar_conv8_sum_shape all;
  ashlar_conv8_shape* const s = &all.convolution;
  int32_t i;
  memset(&all, 0, sizeof(all));
  s->batch = 1;
  s->groups = depthwise ? 1 + random_below(40) : 1 + random_below(2);
  s->in_channels = depthwise ? 1 : 1 + random_below(random_below(3) == 0 ? 40 : 10);
  s->out_channels = depthwise ? 1 : 1 + random_below(9);
  s->h = random_axis();
  s->w = random_axis();
  s->src = random_steps(s->h.input, s->w.input, s->groups * s->in_channels);
  s->dst = random_steps(s->h.output, s->w.output, s->groups * s->out_channels);
  if (s->src.image > kBytes || s->dst.image > kBytes) return 1;
  s->src_flip = random_below(2) * 0x80;
  s->src_zero_point = random_below(256);
  s->zero_point = random_below(2) * 128;
  s->low = (float)-s->zero_point;
  s->high = (float)(255 - s->zero_point);
  all.z = random_steps(s->h.output, s->w.output, s->groups * s->out_channels);
  all.z_flip = random_below(2) * 0x80;
  all.z_zero_point = random_below(256);
  all.sum_scale = 0.25f;
  all.z_scale = 0.5f;
  all.scale = 0.75f;
  if (random_below(2) != 0) {
    all.fixed.a = (1 << 20) + random_below(1 << 20);
    all.fixed.b = random_below(1 << 21);
    all.fixed.shift = 20 + random_below(4);
  }
  all.zero_point = s->zero_point;
  all.low = s->low;
  all.high = s->high;
  fill(src, kBytes);
  fill(z, kBytes);
  fill(filter.bytes, (int32_t)sizeof(filter.bytes));
  for (i = 0; i < kChannels; ++i) {
    bias[i] = random_below(2000) - 1000;
    factors[i] = 0.0001f * (float)(1 + random_below(100));
  }
  memset(dst, 0, sizeof(dst));
  if (sum) {
    ashlar_conv8_sum(&all, src, filter.bytes, bias, factors, z, dst[0]);
    portable_conv8_sum(&all, src, filter.bytes, bias, factors, z, dst[1]);
  } else if (depthwise) {
    ashlar_depthwise8(s, src, filter.bytes, bias, factors, dst[0]);
    portable_depthwise8(s, src, filter.bytes, bias, factors, dst[1]);
  } else {
    ashlar_conv8(s, src, filter.bytes, bias, factors, dst[0]);
    portable_conv8(s, src, filter.bytes, bias, factors, dst[1]);
  }
  return memcmp(dst[0], dst[1], kBytes) == 0;
}

// Has the name of the function that the firmware links.
int net_run(void* arena, const void* input, void* output);
int net_run(void* arena, const void* input, void* output) {
  unsigned long shape, wrong = 0;
  for (shape = 0; shape < kShapes; ++shape) {
    const int depthwise = shape % 3 == 0, sum = shape % 3 == 1;
    if (compare(depthwise, sum)) continue;
    printf("shape %lu differs\n", shape);
    ++wrong;
  }
  printf("%lu shapes differ\n", wrong);
  (void)arena, (void)input, (void)output;
  return wrong == 0 ? 0 : 1;
}

int main(void) { return net_run(NULL, NULL, NULL); }
