// Operators on 8-bit integers, one thread per output element. Results are bit-identical to
// runtime/cpu/quantized: sums of products are exact; everything else is Float32, and each operation
// is rounded by itself. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_QUANTIZED_CODE_H_
#define ASHLAR_RUNTIME_CUDA_QUANTIZED_CODE_H_

#include <cstdint>

#include "opr/base/fixed_point_sum.h"
#include "opr/base/scalar_functions.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/window.h"

namespace ashlar::cuda {

// Device compilers fuse a product and a sum into one operation, unless these functions are used.
#if defined(__CUDA_ARCH__)
ASHLAR_HD float RoundedProduct(float a, float b) { return __fmul_rn(a, b); }
ASHLAR_HD float RoundedSum(float a, float b) { return __fadd_rn(a, b); }
ASHLAR_HD float RoundedQuotient(float a, float b) { return __fdiv_rn(a, b); }
#else
ASHLAR_HD float RoundedProduct(float a, float b) { return a * b; }
ASHLAR_HD float RoundedSum(float a, float b) { return a + b; }
ASHLAR_HD float RoundedQuotient(float a, float b) { return a / b; }
#endif

// The integer type of a tensor.
struct ByteType {
  bool is_signed = false;
  int32_t zero_point = 0;
  float scale = 1;
  int32_t least = 0, most = 0;
};

ASHLAR_HD int32_t IntegerAt(const ByteType& type, const void* data, int64_t at) {
  return type.is_signed ? static_cast<const int8_t*>(data)[at]
                        : static_cast<const uint8_t*>(data)[at];
}

ASHLAR_HD float RealAt(const ByteType& type, const void* data, int64_t at) {
  return RoundedProduct(static_cast<float>(IntegerAt(type, data, at) - type.zero_point),
                        type.scale);
}

// Returns the byte for `steps` from the zero point, rounded half to even and clamped to [least,
// most]. NaN gives the least.
ASHLAR_HD uint8_t ByteOf(const ByteType& type, float steps) {
  const float low = static_cast<float>(type.least - type.zero_point);
  const float high = static_cast<float>(type.most - type.zero_point);
  float rounded = rintf(steps);
  rounded = rounded > low ? rounded : low;
  rounded = rounded < high ? rounded : high;
  return static_cast<uint8_t>(static_cast<int32_t>(rounded) + type.zero_point);
}

// The parameters of a conversion between Float32 and `type`. Operand 0 of walks is the output.
struct ByteConvertParams {
  Walk<2> walk;
  bool quantizes = false;
  ByteType type;
  const void* in = nullptr;
  void* out = nullptr;
};

ASHLAR_HD void ByteConvertAt(const ByteConvertParams& p, int64_t number) {
  int64_t at[2];
  Locate(p.walk, number, at);
  if (p.quantizes) {
    const float value = static_cast<const float*>(p.in)[at[1]];
    static_cast<uint8_t*>(p.out)[at[0]] = ByteOf(p.type, RoundedQuotient(value, p.type.scale));
  } else {
    static_cast<float*>(p.out)[at[0]] = RealAt(p.type, p.in, at[1]);
  }
}

// The parameters of out = table[in], for bytes.
struct ByteTableParams {
  Walk<2> walk;
  uint8_t table[256] = {};
  const void* in = nullptr;
  void* out = nullptr;
};

ASHLAR_HD void ByteTableAt(const ByteTableParams& p, int64_t number) {
  int64_t at[2];
  Locate(p.walk, number, at);
  static_cast<uint8_t*>(p.out)[at[0]] = p.table[static_cast<const uint8_t*>(p.in)[at[1]]];
}

// The parameters of out = a + b. If the sum is rectified, of_out.least is the output's zero point.
struct ByteSumParams {
  Walk<3> walk;
  ByteType of_a, of_b, of_out;
  FixedPointSum fixed;  // if not absent, adds in integers
  const void *a = nullptr, *b = nullptr;
  void* out = nullptr;
};

ASHLAR_HD void ByteSumAt(const ByteSumParams& p, int64_t number) {
  int64_t at[3];
  Locate(p.walk, number, at);
  float steps;
  if (!p.fixed.absent()) {
    steps = static_cast<float>(p.fixed.Of(IntegerAt(p.of_a, p.a, at[1]) - p.of_a.zero_point,
                                          IntegerAt(p.of_b, p.b, at[2]) - p.of_b.zero_point));
  } else {
    const float sum = RoundedSum(RealAt(p.of_a, p.a, at[1]), RealAt(p.of_b, p.b, at[2]));
    steps = RoundedQuotient(sum, p.of_out.scale);
  }
  static_cast<uint8_t*>(p.out)[at[0]] = ByteOf(p.of_out, steps);
}

// The parameters of out = function(in...). Input 0 and the output have 8 bits; others may be
// Float32.
struct ByteFunctionParams {
  Walk<4> walk;
  ScalarFunction function = ScalarFunction::kMul;
  int inputs = 2;
  bool floats[3] = {};
  ByteType of_in[3], of_out;
  const void* in[3] = {};
  void* out = nullptr;
};

ASHLAR_HD void ByteFunctionAt(const ByteFunctionParams& p, int64_t number) {
  int64_t at[4];
  Locate(p.walk, number, at);
  float values[3] = {};
  ASHLAR_UNROLL
  for (int k = 0; k < 3; ++k) {
    if (k >= p.inputs) continue;
    values[k] = p.floats[k] ? static_cast<const float*>(p.in[k])[at[k + 1]]
                            : RealAt(p.of_in[k], p.in[k], at[k + 1]);
  }
  const float value = p.function == ScalarFunction::kFuseMulAdd3
                          ? RoundedSum(RoundedProduct(values[0], values[1]), values[2])
                          : Apply(p.function, values[0], values[1], values[2]);
  static_cast<uint8_t*>(p.out)[at[0]] = ByteOf(p.of_out, RoundedQuotient(value, p.of_out.scale));
}

enum class BytePoolKind { kMax, kExactMean, kMean };

// The parameters of pooling. Exact means are the sum times `factor`. Others are means of real
// numbers over the taps inside the image.
struct BytePoolParams {
  Extents extents;
  bool channels_last = false;
  BytePoolKind kind = BytePoolKind::kMax;
  WindowSteps h, w;
  ImageSteps in_steps, out_steps;
  ByteType of_in, of_out;
  float factor = 1;
  const void* in = nullptr;
  void* out = nullptr;
};

ASHLAR_HD int64_t ElementAt(const ImageSteps& steps, const ImagePoint& point) {
  return point.n * steps.n + point.c * steps.c + point.h * steps.h + point.w * steps.w;
}

ASHLAR_HD void BytePoolAt(const BytePoolParams& p, int64_t number) {
  const ImagePoint point = PointOf(p.extents, p.channels_last, 1, number);
  const Taps rows = InsideTaps(p.h, point.h), columns = InsideTaps(p.w, point.w);
  int32_t largest = p.of_out.least, sum = 0;
  float reals = 0;
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    for (int64_t s = columns.begin; s < columns.end; ++s) {
      const ImagePoint tap = {point.n, point.c, point.h * p.h.stride - p.h.pad + r * p.h.dilation,
                              point.w * p.w.stride - p.w.pad + s * p.w.dilation};
      const int64_t at = ElementAt(p.in_steps, tap);
      const int32_t integer = IntegerAt(p.of_in, p.in, at);
      largest = integer > largest ? integer : largest;
      sum += integer - p.of_in.zero_point;
      if (p.kind == BytePoolKind::kMean) reals = RoundedSum(reals, RealAt(p.of_in, p.in, at));
    }
  }
  const float count = static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
  const uint8_t mean =
      p.kind == BytePoolKind::kMean
          ? ByteOf(p.of_out, RoundedQuotient(RoundedQuotient(reals, count), p.of_out.scale))
          : ByteOf(p.of_out, RoundedProduct(static_cast<float>(sum), p.factor));
  static_cast<uint8_t*>(p.out)[ElementAt(p.out_steps, point)] =
      p.kind == BytePoolKind::kMax ? static_cast<uint8_t>(largest) : mean;
}

// Output channels whose factors fit in the launch parameters.
inline constexpr int kMostOwnFactors = 256;

// The parameters of a convolution. of_out includes the bounds of the activation. `factors` is null,
// or by output channel.
struct ByteConvParams {
  Extents extents;
  bool channels_last = false;
  bool flipped = false;
  bool by_fours = false;  // four channels are adjacent and word-aligned, in image and filter
  WindowSteps h, w;
  int64_t in_channels = 0, out_channels = 0;  // in a group
  ImageSteps in_steps, out_steps;
  int64_t filter_k = 0, filter_c = 0, filter_tap = 0;  // strides
  ByteType of_in, of_out;
  float own_factors[kMostOwnFactors] = {};
  const float* factors = nullptr;
  const void *in = nullptr, *filter = nullptr, *bias = nullptr;
  void* out = nullptr;
};

// Returns sum + the four products of signed bytes.
ASHLAR_HD int32_t AddProducts(uint32_t a, uint32_t b, int32_t sum) {
#if defined(__CUDA_ARCH__)
  return __dp4a(static_cast<int>(a), static_cast<int>(b), sum);
#else
  for (int shift = 0; shift < 32; shift += 8) {
    sum += static_cast<int8_t>(a >> shift & 0xff) * static_cast<int8_t>(b >> shift & 0xff);
  }
  return sum;
#endif
}

// Returns the sum over the channels of a tap. If by_fours, unsigned bytes are read as signed bytes
// 128 smaller; the zero point's contribution is a product with ones.
ASHLAR_HD int32_t TapSum(const ByteConvParams& p, int64_t pixel, const int8_t* filter) {
  int32_t sum = 0;
  if (p.by_fours) {
    const uint32_t flip = p.of_in.is_signed ? 0 : 0x80808080u;
    const int32_t zero_point = p.of_in.zero_point - (p.of_in.is_signed ? 0 : 128);
    const auto* const words =
        reinterpret_cast<const uint32_t*>(static_cast<const uint8_t*>(p.in) + pixel);
    const auto* const weights = reinterpret_cast<const uint32_t*>(filter);
    int32_t ones = 0;
    for (int64_t c = 0; c < p.in_channels / 4; ++c) {
      sum = AddProducts(words[c] ^ flip, weights[c], sum);
      ones = AddProducts(0x01010101u, weights[c], ones);
    }
    return sum - zero_point * ones;
  }
  for (int64_t c = 0; c < p.in_channels; ++c) {
    sum += (IntegerAt(p.of_in, p.in, pixel + c * p.in_steps.c) - p.of_in.zero_point) *
           filter[c * p.filter_c];
  }
  return sum;
}

ASHLAR_HD void ByteConvAt(const ByteConvParams& p, int64_t number) {
  const ImagePoint point = PointOf(p.extents, p.channels_last, 1, number);
  const int64_t group = point.c / p.out_channels;
  const Taps rows = InsideTaps(p.h, point.h), columns = InsideTaps(p.w, point.w);
  const int8_t* const filter = static_cast<const int8_t*>(p.filter) + point.c * p.filter_k;
  const int64_t taps = p.h.window * p.w.window;
  int32_t products = 0;
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    for (int64_t s = columns.begin; s < columns.end; ++s) {
      const ImagePoint source = {point.n, group * p.in_channels,
                                 point.h * p.h.stride - p.h.pad + r * p.h.dilation,
                                 point.w * p.w.stride - p.w.pad + s * p.w.dilation};
      const int64_t tap = r * p.w.window + s;
      products += TapSum(p, ElementAt(p.in_steps, source),
                         filter + (p.flipped ? taps - 1 - tap : tap) * p.filter_tap);
    }
  }
  const int32_t sum = static_cast<int32_t>(  // wraps around, as in CPUs' vectors
      static_cast<uint32_t>(products) +
      static_cast<uint32_t>(static_cast<const int32_t*>(p.bias)[point.c]));
  const float factor = p.factors != nullptr ? p.factors[point.c] : p.own_factors[point.c];
  static_cast<uint8_t*>(p.out)[ElementAt(p.out_steps, point)] =
      ByteOf(p.of_out, RoundedProduct(static_cast<float>(sum), factor));
}

// Each thread computes an element, by the function above for these parameters.
LaunchError Launch(const ByteConvertParams& params, void* stream);
LaunchError Launch(const ByteTableParams& params, void* stream);
LaunchError Launch(const ByteSumParams& params, void* stream);
LaunchError Launch(const ByteFunctionParams& params, void* stream);
LaunchError Launch(const BytePoolParams& params, void* stream);
LaunchError Launch(const ByteConvParams& params, void* stream);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_QUANTIZED_CODE_H_
