// 128-bit vectors of 64-bit Arm for tile_code.h. `Multiply` is a struct with
//   static constexpr bool kSigned;  // whether it takes bytes of the image as signed
//   static int32x4_t Add(int32x4_t sums, int8x16_t bytes, int8x16_t weights)
// that adds the four products of each 32 bits.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_VECTORS_NEON_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_VECTORS_NEON_H_

#include <arm_neon.h>

#include "runtime/cpu/quantized/tile.h"

namespace ashlar::cpu {
namespace {

template <typename Multiply>
struct VectorsNeon {
  using Vector = int32x4_t;
  static constexpr int kLanes = 4, kBytes = 16;
  static constexpr bool kSigned = Multiply::kSigned;

  // Returns the lanes of `count` channels, which may be 0.
  using Lanes = int64_t;
  static Lanes LanesOf(int64_t count) { return count; }

  static Vector Load(const void* data) {
    return vreinterpretq_s32_u8(vld1q_u8(static_cast<const uint8_t*>(data)));
  }
  // Loads `count` bytes, at most kBytes; reads nothing after them.
  static Vector LoadSome(const uint8_t* data, int64_t count) {
    if (count >= kBytes) return Load(data);
    uint8_t bytes[kBytes] = {};
    __builtin_memcpy(bytes, data, static_cast<size_t>(count));
    return Load(bytes);
  }
  // Loads 16 bytes; wider vectors load several.
  static Vector LoadQuads(const void* data, int64_t /*step*/, int64_t /*quads*/) {
    return Load(data);
  }
  // Returns the same vector, but hides its origin from the compiler.
  static Vector Apart(Vector vector) {
    asm("" : "+w"(vector));
    return vector;
  }
  static Vector Broadcast(uint32_t bytes) { return vreinterpretq_s32_u32(vdupq_n_u32(bytes)); }
  static Vector FlipBy(Vector bytes, uint32_t flip) { return veorq_s32(bytes, Broadcast(flip)); }
  static Vector Flip(Vector bytes) { return FlipBy(bytes, 0x80808080); }
  static Vector Add(Vector sums, Vector bytes, Vector weights) {
    return Multiply::Add(sums, vreinterpretq_s8_s32(bytes), vreinterpretq_s8_s32(weights));
  }

  // A table of 256 bytes; an index beyond a quarter leaves what others found.
  struct Table {
    uint8x16x4_t quarters[4];

    explicit Table(const uint8_t* bytes) {
      for (int i = 0; i < 4; ++i) quarters[i] = vld1q_u8_x4(bytes + 64 * i);
    }
    Vector Of(Vector bytes) const {
      uint8x16_t index = vreinterpretq_u8_s32(bytes);
      uint8x16_t found = vqtbl4q_u8(quarters[0], index);
      for (int i = 1; i < 4; ++i) {
        index = vsubq_u8(index, vdupq_n_u8(64));
        found = vqtbx4q_u8(found, quarters[i], index);
      }
      return vreinterpretq_s32_u8(found);
    }
  };

  static Vector LowBytes(Vector a, Vector b) {
    return vreinterpretq_s32_s8(vzip1q_s8(vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b)));
  }
  static Vector HighBytes(Vector a, Vector b) {
    return vreinterpretq_s32_s8(vzip2q_s8(vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b)));
  }
  static Vector LowPairs(Vector a, Vector b) {
    return vreinterpretq_s32_s16(vzip1q_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
  }
  static Vector HighPairs(Vector a, Vector b) {
    return vreinterpretq_s32_s16(vzip2q_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
  }

  using Floats = float32x4_t;
  static Floats All(float value) { return vdupq_n_f32(value); }
  static Floats LoadFloats(const float* data) { return vld1q_f32(data); }
  static Floats ToFloats(Vector integers) { return vcvtq_f32_s32(integers); }
  // If an operand is NaN, both return the second one, as x86's instructions do.
  static Floats Min(Floats a, Floats b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
  static Floats Max(Floats a, Floats b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
  static Floats MulAdd(Floats a, Floats b, Floats c) { return vfmaq_f32(c, a, b); }
  static Floats Nearest(Floats values) { return vrndnq_f32(values); }
  // Loads the existing bytes of a vector's channels, xors each with `flip`, and converts to
  // Float32.
  static Floats BytesAsFloats(const uint8_t* data, Lanes lanes, uint8_t flip) {
    uint32_t four = 0;
    if (lanes >= kLanes) {
      __builtin_memcpy(&four, data, sizeof(four));
    } else if (lanes > 0) {
      __builtin_memcpy(&four, data, static_cast<size_t>(lanes));
    }
    const uint8x8_t bytes = veor_u8(vcreate_u8(four), vdup_n_u8(flip));
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(bytes))));
  }
  // Returns the larger magnitude; `magnitude` is already one.
  static Floats Farther(Floats value, Floats magnitude) { return Max(magnitude, vabsq_f32(value)); }
  static bool AnyAbove(Floats values, float bound) {
    return vmaxvq_u32(vcgtq_f32(values, All(bound))) != 0;
  }
  // Converts four vectors of steps from the zero point, below 31 bits, to bytes. NaN becomes the
  // least integer; packing saturates.
  __attribute__((always_inline)) static Vector Bytes(const Floats* steps,
                                                     const ByteRounding& rounding) {
    const auto integers = [&](int i) {
      return vbslq_s32(vceqq_f32(steps[i], steps[i]), vcvtnq_s32_f32(steps[i]),
                       vdupq_n_s32(INT32_MIN));
    };
    const auto words = [&](int i) {
      const int16x8_t packed = vcombine_s16(vqmovn_s32(integers(i)), vqmovn_s32(integers(i + 1)));
      return vqaddq_s16(packed, vdupq_n_s16(rounding.zero));
    };
    const uint8x16_t bytes = vcombine_u8(vqmovun_s16(words(0)), vqmovun_s16(words(2)));
    const uint8x16_t clamped =
        vminq_u8(vmaxq_u8(bytes, vdupq_n_u8(rounding.least)), vdupq_n_u8(rounding.most));
    return vreinterpretq_s32_u8(veorq_u8(clamped, vdupq_n_u8(rounding.flip)));
  }
  static Vector InOrder(Vector bytes) { return bytes; }
  static void StoreSome(Vector bytes, uint8_t* dst, int64_t count) {
    if (count >= kBytes) {
      vst1q_u8(dst, vreinterpretq_u8_s32(bytes));
    } else {
      uint8_t stored[kBytes];
      vst1q_u8(stored, vreinterpretq_u8_s32(bytes));
      __builtin_memcpy(dst, stored, static_cast<size_t>(count));
    }
  }
  // Stores the bytes of four vectors, which belong to one pixel.
  template <int kVectors, int kPart>
  static void StorePart(Vector bytes, uint8_t* dst, int64_t count) {
    static_assert(kVectors == 4 && kPart == 0);
    StoreSome(bytes, dst, count);
  }
};

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_VECTORS_NEON_H_
