// 8-bit convolutions in AMX's matrix registers.
//
// A register ("tile") has 16 rows of 64 bytes. One instruction multiplies a tile of pixels, 16 rows
// of up to 64 bytes, by a tile of weights, 64 bytes by 16 output channels, and adds the products to
// a tile of 16 x 16 sums. Sums are exact modulo 2^32, so results have the bits of tile.h's code.
//
// - A block is two tiles of pixels by two panels of 16 channels: tiles 0 to 3 hold its sums, 4 and
//   5 its pixels, 6 and 7 its weights. Each tile of operands is used twice.
// - A tile of pixels is read in place: its rows are `pixel_step` bytes apart, and a step of the sum
//   adds its offset. A table of offsets is all that distinguishes convolutions (amx_conv.cc).
// - While a block's products are added, the sums of the block before are rounded and stored.
//
// The code is a template (amx_code.h) over an engine: the instructions (amx_hardware.cc), or their
// emulation (tests/runtime/cpu/emulation), with which tests run on any processor with AVX2.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_AMX_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_AMX_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/cpu/quantized/tile.h"

namespace ashlar::cpu {

inline constexpr int64_t kAmxRows = 16;      // of a tile
inline constexpr int64_t kAmxRowBytes = 64;  // of a tile
inline constexpr int64_t kAmxTiles = 2;      // of pixels, in a block
inline constexpr int64_t kAmxPanels = 2;     // of kPanel channels, in a block
inline constexpr int64_t kAmxBlockRows = kAmxTiles * kAmxRows;

// The tiles of a convolution. All its blocks share them, so registers are configured rarely.
struct AmxShape {
  int64_t rows;   // pixels of a tile
  int64_t depth;  // bytes of a pixel in one step, a multiple of kDepth
};

// Tiles of pixels, and where their results go.
struct AmxPixels {
  static constexpr int64_t kMostTiles = 64;
  int64_t tiles = 0;
  const uint8_t* src[kMostTiles];  // the first pixel
  // By tile: where its pixels with results begin in the arrays below, and where the last one's end.
  int32_t begin[kMostTiles + 1];
  uint8_t row[kMostTiles * kAmxRows];  // in the block
  uint8_t* dst[kMostTiles * kAmxRows];
  const uint8_t* z[kMostTiles * kAmxRows];  // if a tensor is added
};

// The operand that is read once while the other one stays in the first-level cache.
enum class AmxStream { kNone, kWeights, kPixels };

struct AmxCall {
  const AmxPixels* pixels;
  int64_t pixel_step;  // bytes between pixels
  AmxShape shape;
  const int64_t* offsets;  // by step, in bytes
  int64_t steps;
  const int8_t* weights;  // [steps, panels, depth / kDepth, kPanel, kDepth]
  const int8_t* ahead;    // weights to prefetch meanwhile, of the same size; null: none
  AmxStream stream;
  const int32_t* start;  // by channel, padded to whole panels, as in TileCall
  const float* factors;
  ByteRounding rounding;
  const TileSum* sum;  // null: nothing is added
  int64_t channel, channels;
};

// The sums of a block that are not stored yet.
struct AmxPending {
  TileCall call = {};             // dst, z and all that follows the sums
  const uint8_t* rows = nullptr;  // by pixel
  const int32_t* sums = nullptr;  // panels [kAmxBlockRows, kPanel]
  int64_t pixels = 0;             // with results
  int64_t next = 0, pieces = 0;   // of those in which they are stored
};

// A thread's state between calls. The last call's pixels, factors and sums are read until `finish`.
struct AmxState {
  alignas(64) int32_t sums[2][kAmxPanels * kAmxBlockRows * kPanel];
  int current = 0;  // the sums of the next block
  AmxPending pending;
};

// The code for one engine. Each thread configures its registers before calls and releases them
// afterwards: a released state costs context switches nothing.
struct AmxCode {
  absl::Status (*request)();  // asks the system, once per process
  void (*configure)(const AmxShape& shape);
  void (*run[2])(const AmxCall& call, AmxState& state);  // by is_signed
  void (*finish)(AmxState& state);                       // stores the last block
  void (*release)();
};

// Returns the instructions; in tests on other processors, their emulation.
const AmxCode& AmxCodeHere();

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_AMX_H_
