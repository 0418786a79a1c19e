// What lies in front of a product of signed bytes that is a convolution, and behind it: a thread
// takes four bytes. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_CONV_QUANTIZED_PRODUCT_CODE_H_
#define ASHLAR_RUNTIME_CUDA_CONV_QUANTIZED_PRODUCT_CODE_H_

#include "runtime/cuda/quantized_code.h"

namespace ashlar::cuda {

// Windows of an image as rows of a matrix of signed bytes, [rows W, R S C]: unsigned ones are 128
// less. In the padding lies what stands for zero.
struct ByteWindowsParams {
  Extents extents;    // [rows of windows, W, R, S, C / 4]
  Extents images;     // [N, H]
  int64_t first = 0;  // row of windows, in all images
  WindowSteps h, w;
  ImageSteps in_steps;
  bool words = false;    // four channels lie side by side and on words
  uint32_t flip = 0;     // to signed bytes, four at once
  uint32_t padding = 0;  // signed, likewise
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

// Sums of products [pixels, K] to the bytes of pixels with channels last. of_out as in
// ByteConvParams.
struct ByteRequantizeParams {
  Extents extents;  // [pixels, K / 4]
  ByteType of_out;
  // By channel: what zero points add to the sums; the factors.
  const int32_t *excess = nullptr, *bias = nullptr;
  const float* factors = nullptr;
  const void* sums = nullptr;
  bool words = false;  // the output lies on words
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

// A thread makes four bytes by its function above.
LaunchError Launch(const ByteWindowsParams& params, void* stream);
LaunchError Launch(const ByteRequantizeParams& params, void* stream);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CONV_QUANTIZED_PRODUCT_CODE_H_
