// AMX's instructions in portable C++, with the hardware's bits, and AVX2 for rounding. Only for
// tests: they run the kernels of AMX on every processor with AVX2.
//
// Stricter than the hardware: it ends the program if the shapes of operands do not fit, or if a
// tile is used that was not configured.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/cpu/host_processor.h"
#include "runtime/cpu/quantized/amx_code.h"
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

  // TDPBUSD, or TDPBSSD if pixels are signed. Sums wrap around.
  template <int kSums, int kPixels, int kWeights, bool kSigned>
  static void Add() {
    static_assert(kSums != kPixels && kSums != kWeights && kPixels != kWeights);
    for (const int tile : {kSums, kPixels, kWeights}) RequireConfigured(tile);
    Require(Rows(kSums) == Rows(kPixels), "as many rows of sums as of pixels");
    Require(RowBytes(kSums) == RowBytes(kWeights), "as many sums as weights in a row");
    Require(RowBytes(kPixels) == 4 * Rows(kWeights), "a row of weights for four bytes of pixels");
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
  static void RequireConfigured(int tile) {
    Require(registers.configured && Rows(tile) > 0 && RowBytes(tile) > 0, "a configured tile");
  }
};

absl::Status NothingToRequest() { return absl::OkStatus(); }

constexpr AmxCode kAmxEmulation = MakeAmxCode<Emulation, Vectors256<Widened256>>(NothingToRequest);

}  // namespace

extern const AmxCode kAmxInstructions;

const AmxCode& AmxCodeHere() { return HostProcessor().amx_int8 ? kAmxInstructions : kAmxEmulation; }

}  // namespace ashlar::cpu
