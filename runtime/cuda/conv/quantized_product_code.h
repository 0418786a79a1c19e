// The steps before and after a product of signed bytes that implements a convolution. Each thread
// handles four bytes. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_CONV_QUANTIZED_PRODUCT_CODE_H_
#define ASHLAR_RUNTIME_CUDA_CONV_QUANTIZED_PRODUCT_CODE_H_

#include "runtime/cuda/quantized_code.h"

namespace ashlar::cuda {

// The parameters of copying the windows of an image to rows of a matrix of signed bytes, [rows W, R
// S C]. Unsigned bytes become signed ones 128 smaller. Padding is filled with the zero point.
struct ByteWindowsParams {
  Extents extents;    // [rows of windows, W, R, S, C / 4]
  Extents images;     // [N, H]
  int64_t first = 0;  // the first row of windows, counted over all images
  WindowSteps h, w;
  ImageSteps in_steps;
  bool words = false;    // four channels are adjacent and aligned to words
  uint32_t flip = 0;     // xor to signed bytes, four at once
  uint32_t padding = 0;  // four signed bytes of padding
  const void* in = nullptr;
  void* out = nullptr;
};

ASHLAR_HD void ByteWindowsAt(const ByteWindowsParams& p, int64_t number) {
  int64_t image = number;
  const int64_t c = TakeCoordinate(p.extents, 4, image) * 4;
  const int64_t s = TakeCoordinate(p.extents, 3, image);
  const int64_t r = TakeCoordinate(p.extents, 2, image);
  const int64_t x = TakeCoordinate(p.extents, 1, image) * p.w.stride - p.w.pad + s * p.w.dilation;
  image += p.first;
  const int64_t y = TakeCoordinate(p.images, 1, image) * p.h.stride - p.h.pad + r * p.h.dilation;
  uint32_t word = p.padding;
  if (y >= 0 && y < p.h.input && x >= 0 && x < p.w.input) {
    const auto* const bytes =
        static_cast<const uint8_t*>(p.in) + ElementAt(p.in_steps, {image, c, y, x});
    if (p.words) {
      word = *reinterpret_cast<const uint32_t*>(bytes);
    } else {
      word = 0;
      for (int i = 0; i < 4; ++i) word |= uint32_t{bytes[i * p.in_steps.c]} << (8 * i);
    }
    word ^= p.flip;
  }
  static_cast<uint32_t*>(p.out)[number] = word;
}

// The parameters of converting sums of products [pixels, K] to the bytes of NHWC pixels. of_out as
// in ByteConvParams.
struct ByteRequantizeParams {
  Extents extents;  // [pixels, K / 4]
  ByteType of_out;
  // By channel: the contribution of zero points to the sums, the bias, and the factors.
  const int32_t *excess = nullptr, *bias = nullptr;
  const float* factors = nullptr;
  const void* sums = nullptr;
  bool words = false;  // the output is aligned to words
  void* out = nullptr;
};

ASHLAR_HD void ByteRequantizeAt(const ByteRequantizeParams& p, int64_t number) {
  int64_t pixel = number;
  const int64_t c = TakeCoordinate(p.extents, 1, pixel) * 4;
  const Pack<int32_t, 4> sums = static_cast<const Pack<int32_t, 4>*>(p.sums)[number];
  Pack<uint8_t, 4> bytes;
  ASHLAR_UNROLL
  for (int i = 0; i < 4; ++i) {
    const int32_t sum = sums.values[i] - p.excess[c + i] + p.bias[c + i];
    bytes.values[i] = ByteOf(p.of_out, RoundedProduct(static_cast<float>(sum), p.factors[c + i]));
  }
  if (p.words) {
    static_cast<Pack<uint8_t, 4>*>(p.out)[number] = bytes;
    return;
  }
  ASHLAR_UNROLL
  for (int i = 0; i < 4; ++i) static_cast<uint8_t*>(p.out)[number * 4 + i] = bytes.values[i];
}

// Each thread computes four bytes, by the function above for these parameters.
LaunchError Launch(const ByteWindowsParams& params, void* stream);
LaunchError Launch(const ByteRequantizeParams& params, void* stream);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CONV_QUANTIZED_PRODUCT_CODE_H_
