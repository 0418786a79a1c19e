// AMX's instructions in portable C++, with the hardware's bits, and AVX2 for rounding. Only for
// tests: they run the kernels of AMX on every processor with AVX2.
//
// Stricter than the hardware: it ends the program if the shapes of operands do not fit, or if a
// tile is used that was not configured.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/cpu/amx/tiles_code.h"
#include "runtime/cpu/host_processor.h"
#include "runtime/cpu/quantized/vectors_256.h"

namespace ashlar::cpu {
namespace {

constexpr int kRegisters = 8;

struct Registers {
  bool configured = false;
  AmxConfiguration shape;
  uint8_t tiles[kRegisters][kAmxRows][kAmxRowBytes];
};
thread_local Registers registers;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "emulated AMX: %s\n", what);
  std::abort();
}

struct Emulation {
  static int Rows(int tile) { return registers.shape.rows[tile]; }
  static int RowBytes(int tile) { return registers.shape.row_bytes[tile]; }

  static void Configure(const AmxConfiguration& configuration) {
    Require(configuration.palette == 1 && configuration.start_row == 0, "palette 1 from row 0");
    for (int tile = 0; tile < kRegisters; ++tile) {
      Require(configuration.rows[tile] <= kAmxRows, "at most 16 rows");
      Require(configuration.row_bytes[tile] <= kAmxRowBytes, "at most 64 bytes in a row");
      Require(configuration.row_bytes[tile] % 4 == 0, "whole groups of four bytes");
    }
    registers.configured = true;
    registers.shape = configuration;
    std::memset(registers.tiles, 0, sizeof(registers.tiles));
  }
  static void Release() { registers.configured = false; }

  template <int kTile>
  static void Load(const void* from, int64_t row_step) {
    static_assert(kTile < kRegisters);
    RequireConfigured(kTile);
    std::memset(registers.tiles[kTile], 0, sizeof(registers.tiles[kTile]));
    for (int row = 0; row < Rows(kTile); ++row) {
      std::memcpy(registers.tiles[kTile][row], static_cast<const uint8_t*>(from) + row * row_step,
                  static_cast<size_t>(RowBytes(kTile)));
    }
  }
  template <int kTile>
  static void LoadOnce(const void* from, int64_t row_step) {
    Load<kTile>(from, row_step);
  }
  template <int kTile>
  static void Store(void* to, int64_t row_step) {
    static_assert(kTile < kRegisters);
    RequireConfigured(kTile);
    for (int row = 0; row < Rows(kTile); ++row) {
      std::memcpy(static_cast<uint8_t*>(to) + row * row_step, registers.tiles[kTile][row],
                  static_cast<size_t>(RowBytes(kTile)));
    }
  }

  // TDPBUSD, TDPBSSD, whose sums wrap around, or TDPBF16PS.
  template <int kSums, int kPixels, int kWeights, AmxProduct kProduct>
  static void Add() {
    constexpr bool kSigned = kProduct == AmxProduct::kSignedBytes;
    static_assert(kSums != kPixels && kSums != kWeights && kPixels != kWeights);
    for (const int tile : {kSums, kPixels, kWeights}) RequireConfigured(tile);
    Require(Rows(kSums) == Rows(kPixels), "as many rows of sums as of pixels");
    Require(RowBytes(kSums) == RowBytes(kWeights), "as many sums as weights in a row");
    Require(RowBytes(kPixels) == 4 * Rows(kWeights), "a row of weights for four bytes of pixels");
    if (kProduct == AmxProduct::kBFloat16) {
      // The instruction's own state: rounds to nearest, and takes subnormal numbers for zero.
      constexpr unsigned kFlushes = 0x8040, kMasks = 0x1f80;
      const unsigned before = _mm_getcsr();
      _mm_setcsr(kFlushes | kMasks);
      for (int row = 0; row < Rows(kSums); ++row) {
        AddBFloat16(registers.tiles[kPixels][row], registers.tiles[kWeights], Rows(kWeights),
                    registers.tiles[kSums][row]);
      }
      _mm_setcsr(before);
      return;
    }
    for (int row = 0; row < Rows(kSums); ++row) {
      uint32_t sums[kAmxRowBytes / 4];
      std::memcpy(sums, registers.tiles[kSums][row], sizeof(sums));
      for (int k = 0; k < RowBytes(kPixels); ++k) {
        const uint8_t byte = registers.tiles[kPixels][row][k];
        const int32_t pixel = kSigned ? static_cast<int8_t>(byte) : byte;
        const uint8_t* const weights = registers.tiles[kWeights][k / 4] + k % 4;
        for (int lane = 0; lane < RowBytes(kSums) / 4; ++lane) {
          sums[lane] += static_cast<uint32_t>(pixel * static_cast<int8_t>(weights[4 * lane]));
        }
      }
      std::memcpy(registers.tiles[kSums][row], sums, sizeof(sums));
    }
  }

 private:
  // Adds a row's products to its 16 sums. (A function of its own, so that the compiler keeps its
  // arithmetic between the changes of the state.)
  [[gnu::noinline]] static void AddBFloat16(const uint8_t* pixels,
                                            const uint8_t (*weights)[kAmxRowBytes], int pairs,
                                            uint8_t* sums) {
    for (int half = 0; half < 2; ++half) {
      __m256 even = _mm256_setzero_ps(), odd = _mm256_setzero_ps();
      for (int k = 0; k < pairs; ++k) {
        uint32_t pixel;
        std::memcpy(&pixel, pixels + 4 * k, sizeof(pixel));
        const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
        const __m256i x = _mm256_set1_epi32(static_cast<int>(pixel));
        const __m256i w =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights[k] + 32 * half));
        const auto first = [](__m256i v) { return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16)); };
        const auto second = [&](__m256i v) {
          return _mm256_castsi256_ps(_mm256_and_si256(v, high));
        };
        even = _mm256_fmadd_ps(first(x), first(w), even);
        odd = _mm256_fmadd_ps(second(x), second(w), odd);
      }
      float* const sum = reinterpret_cast<float*>(sums + 32 * half);
      _mm256_storeu_ps(sum, _mm256_add_ps(_mm256_loadu_ps(sum), _mm256_add_ps(even, odd)));
    }
  }
  static void RequireConfigured(int tile) {
    Require(registers.configured && Rows(tile) > 0 && RowBytes(tile) > 0, "a configured tile");
  }
};

absl::Status NothingToRequest() { return absl::OkStatus(); }

constexpr AmxCode kAmxEmulation =
    MakeAmxCode<Emulation, Vectors256<Widened256>, Vectors<8>>(Isa::kAvx2, NothingToRequest);

}  // namespace

extern const AmxCode kAmxInstructions;

const AmxCode& AmxCodeHere() { return HostProcessor().amx_int8 ? kAmxInstructions : kAmxEmulation; }

}  // namespace ashlar::cpu
