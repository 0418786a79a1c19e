// Float16 uses the conversion instructions of processors: F16C on x86, which every processor with
// AVX2 has, and AArch64's. BFloat16 is the upper half of a Float32, so arithmetic on integers
// converts it, with the same bits on every processor.
#include "runtime/cpu/float16.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <bit>

#include "graph/half.h"
#include "runtime/cpu/isa.h"

namespace ashlar::cpu {
namespace {

void Widen(const uint16_t* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = HalfToFloat(from[i]);
}

void Narrow(const float* from, uint16_t* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = FloatToHalf(from[i]);
}

#if defined(__x86_64__)

constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

[[gnu::target("avx2,f16c")]] void WidenVectors(const uint16_t* from, float* to, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m128i* const at = reinterpret_cast<const __m128i*>(from + i);
    const __m256 low = _mm256_cvtph_ps(_mm_loadu_si128(at));
    const __m256 high = _mm256_cvtph_ps(_mm_loadu_si128(at + 1));
    _mm256_storeu_ps(to + i, low);
    _mm256_storeu_ps(to + i + 8, high);
  }
  for (; i < n; ++i) to[i] = _cvtsh_ss(from[i]);
}

[[gnu::target("avx2,f16c")]] void NarrowVectors(const float* from, uint16_t* to, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m128i* const at = reinterpret_cast<__m128i*>(to + i);
    const __m128i low = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), kNearest);
    const __m128i high = _mm256_cvtps_ph(_mm256_loadu_ps(from + i + 8), kNearest);
    _mm_storeu_si128(at, low);
    _mm_storeu_si128(at + 1, high);
  }
  for (; i < n; ++i) to[i] = _cvtss_sh(from[i], kNearest);
}

#elif defined(__aarch64__)

void WidenVectors(const uint16_t* from, float* to, int64_t n) {
  const auto* const halves = reinterpret_cast<const __fp16*>(from);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(halves[i]);
}

void NarrowVectors(const float* from, uint16_t* to, int64_t n) {
  auto* const halves = reinterpret_cast<__fp16*>(to);
  for (int64_t i = 0; i < n; ++i) halves[i] = static_cast<__fp16>(from[i]);
}

#else

constexpr WidenFunction WidenVectors = Widen;
constexpr NarrowFunction NarrowVectors = Narrow;

#endif

void WidenBFloat16(const uint16_t* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    to[i] = std::bit_cast<float>(static_cast<uint32_t>(from[i]) << 16);
  }
}

void NarrowBFloat16(const float* from, uint16_t* to, int64_t n) {
  constexpr uint32_t kInfinity = 0x7f800000, kQuiet = 0x400000;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(from[i]);
    const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
    const bool is_nan = (bits & 0x7fffffff) > kInfinity;
    to[i] = static_cast<uint16_t>((is_nan ? bits | kQuiet : rounded) >> 16);
  }
}

// Returns the version of a row's conversion for the instruction set.
template <typename Function>
Function Chosen([[maybe_unused]] Isa isa, Function any, [[maybe_unused]] Function vectors) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx2 || isa == Isa::kAvx512) return vectors;
#elif defined(__aarch64__)
  if (isa == Isa::kNeon) return vectors;
#endif
  return any;
}

}  // namespace

WidenFunction WidenFor(DType dtype, Isa isa) {
  if (dtype == DType::kBFloat16) return Versions<WidenBFloat16>::For(isa);
  return dtype == DType::kFloat16 ? Chosen(isa, Widen, WidenVectors) : nullptr;
}

NarrowFunction NarrowFor(DType dtype, Isa isa) {
  if (dtype == DType::kBFloat16) return Versions<NarrowBFloat16>::For(isa);
  return dtype == DType::kFloat16 ? Chosen(isa, Narrow, NarrowVectors) : nullptr;
}

}  // namespace ashlar::cpu
