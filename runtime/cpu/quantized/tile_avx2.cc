// The tile for AVX2, exact: bytes are widened to 16 bits, and pairs of products summed in 32
// (vpmaddwd; vpmaddubsw, twice as fast, would saturate). Each vector has two sums for each of four
// channels, which are added in the end.
#include "runtime/cpu/quantized/tile.h"

#ifdef __AVX2__
#include <immintrin.h>

#include <cstring>
#endif

namespace ashlar::cpu {

#ifdef __AVX2__
namespace {

template <bool kSigned>
inline __m256i Widened(uint32_t bytes) {
  const __m128i four = _mm_set1_epi32(static_cast<int>(bytes));
  return kSigned ? _mm256_cvtepi8_epi16(four) : _mm256_cvtepu8_epi16(four);
}

inline __m256i WeightsOf(const int8_t* weights) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
}

// The bytes of eight sums, in the low halves of two quarters.
inline __m128i Rounded(__m256i sums, const float* factors, const RoundingSteps& rounding) {
  __m256 steps = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), _mm256_loadu_ps(factors));
  steps = _mm256_round_ps(steps, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  steps = _mm256_max_ps(steps, _mm256_set1_ps(rounding.low));
  steps = _mm256_min_ps(steps, _mm256_set1_ps(rounding.high));
  const __m256i integers =
      _mm256_add_epi32(_mm256_cvtps_epi32(steps), _mm256_set1_epi32(rounding.zero_point));
  const __m256i low_bytes = _mm256_shuffle_epi8(
      integers, _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4,
                                 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  return _mm_unpacklo_epi32(_mm256_castsi256_si128(low_bytes),
                            _mm256_extracti128_si256(low_bytes, 1));
}

template <int kPixels, bool kSigned>
void Tile(const TileCall& call) {
  __m256i sums[kPixels][4] = {};
  const int8_t* weights = call.weights;
  const int64_t whole = call.depth / kDepth * kDepth;
  const size_t rest = static_cast<size_t>(call.depth - whole);
  const auto step = [&](const uint32_t* bytes) {
    __m256i x[kPixels];
    for (int p = 0; p < kPixels; ++p) x[p] = Widened<kSigned>(bytes[p]);
    for (int v = 0; v < 4; ++v) {
      const __m256i w = WeightsOf(weights + 16 * v);
      for (int p = 0; p < kPixels; ++p) {
        sums[p][v] = _mm256_add_epi32(sums[p][v], _mm256_madd_epi16(x[p], w));
      }
    }
    weights += kPanel * kDepth;
  };
  for (int64_t tap = 0; tap < call.num_taps; ++tap) {
    const uint8_t* const* const x = call.taps + tap * kPixels;
    uint32_t bytes[kPixels] = {};
    for (int64_t c = 0; c < whole; c += kDepth) {
      for (int p = 0; p < kPixels; ++p) std::memcpy(&bytes[p], x[p] + c, 4);
      step(bytes);
    }
    if (rest == 0) continue;
    for (int p = 0; p < kPixels; ++p) {  // nothing is read behind the last channel
      bytes[p] = 0;
      for (size_t i = 0; i < rest; ++i) {
        bytes[p] |= static_cast<uint32_t>(x[p][whole + static_cast<int64_t>(i)]) << (8 * i);
      }
    }
    step(bytes);
  }
  const __m256i zero_point = _mm256_set1_epi32(call.source_zero_point);
  __m256i start[2];
  for (int half = 0; half < 2; ++half) {
    const auto load = [&](const int32_t* values) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + 8 * half));
    };
    start[half] =
        _mm256_sub_epi32(load(call.bias), _mm256_mullo_epi32(zero_point, load(call.weight_sums)));
  }
  for (int p = 0; p < kPixels; ++p) {
    __m128i bytes[2];
    for (int half = 0; half < 2; ++half) {
      __m256i sum = _mm256_hadd_epi32(sums[p][2 * half], sums[p][2 * half + 1]);
      sum = _mm256_permute4x64_epi64(sum, 0xd8);
      bytes[half] =
          Rounded(_mm256_add_epi32(sum, start[half]), call.factors + 8 * half, call.rounding);
    }
    const __m128i all = _mm_unpacklo_epi64(bytes[0], bytes[1]);
    if (call.channels == kPanel) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(call.dst[p]), all);
    } else {
      uint8_t stored[kPanel];
      _mm_storeu_si128(reinterpret_cast<__m128i*>(stored), all);
      std::memcpy(call.dst[p], stored, static_cast<size_t>(call.channels));
    }
  }
}

template <bool kSigned>
TileFunction TileOf(int64_t pixels) {
  return pixels == 1 ? Tile<1, kSigned> : pixels == 2 ? Tile<2, kSigned> : Tile<3, kSigned>;
}

}  // namespace

TileFunction Avx2Tile(int64_t pixels, bool is_signed) {
  return is_signed ? TileOf<true>(pixels) : TileOf<false>(pixels);
}
#else
TileFunction Avx2Tile(int64_t, bool) { return nullptr; }
#endif

}  // namespace ashlar::cpu
