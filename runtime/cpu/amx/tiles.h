// Products in AMX's matrix registers: of bytes, with 32-bit sums, and of BFloat16, with Float32
// sums.
//
// A register ("tile") has 16 rows of 64 bytes. One instruction multiplies a tile of pixels, 16 rows
// of up to 64 bytes, by a tile of weights, 64 bytes by 16 output channels, and adds the products to
// a tile of 16 x 16 sums.
//
// - A block is two tiles of pixels by two panels of 16 channels: tiles 0 to 3 hold its sums, 4 and
//   5 its pixels, 6 and 7 its weights. Each tile of operands is used twice.
// - A tile of pixels is read in place: its rows are `pixel_step` bytes apart, and a step of the sum
//   adds its offset. A table of offsets is all that distinguishes convolutions (positions.h).
// - While a block's products are added, the sums of the block before are rounded and stored.
//
// Sums of bytes are exact modulo 2^32, so results have the bits of quantized/tile.h's code. Sums of
// BFloat16 depend on the step in which a product is added, but not on tiles, panels and threads. A
// step adds the products of even and of odd channels separately, from +0, each product fused with
// its sum; then it adds both sums; then that to the sum so far. Results are rounded to nearest,
// ties to even; subnormal operands and results become zero.
//
// The code is a template (tiles_code.h) over an engine: the instructions (hardware.cc), or their
// emulation (tests/runtime/cpu/emulation), with which tests run on any processor with AVX2.
#ifndef ASHLAR_RUNTIME_CPU_AMX_TILES_H_
#define ASHLAR_RUNTIME_CPU_AMX_TILES_H_

#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "runtime/cpu/conv/tile.h"
#include "runtime/cpu/quantized/tile.h"

namespace ashlar::cpu {

class BlockActivation;

inline constexpr int64_t kAmxRows = 16;      // of a tile
inline constexpr int64_t kDotRows = 12;      // pixels whose sums stay in vectors (dots_code.h)
inline constexpr int64_t kAmxRowBytes = 64;  // of a tile
inline constexpr int64_t kAmxTiles = 2;      // of pixels, in a block
inline constexpr int64_t kAmxPanels = 2;     // of kPanel channels, in a block
inline constexpr int64_t kAmxBlockRows = kAmxTiles * kAmxRows;
inline constexpr int64_t kAmxBlockChannels = kAmxPanels * kPanel;

// The tiles of a convolution. All its blocks share them, so registers are configured rarely.
struct AmxShape {
  int64_t rows;   // pixels of a tile
  int64_t depth;  // bytes of a pixel in one step, a multiple of kDepth
};

// Tiles of pixels, and the places of their results.
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

// How sums become results. Bytes of a pixel are adjacent channels.
struct AmxBytes {
  const float* factors;  // by channel, padded to whole panels, as in TileCall
  ByteRounding rounding;
  const TileSum* sum;  // null: nothing is added
};

// BFloat16 results of a pixel are panels `panel_step` bytes apart, and `z_panel_step` in the tensor
// that is added to the sums.
struct AmxFloats {
  bool adds;
  bool padded;  // channels of a panel that do not exist are stored as zeros; otherwise not stored
  int64_t panel_step, z_panel_step;
  ConvFinish finish;  // in registers, then
  // in memory: activates the channels of a panel; null: nothing to do.
  void (*behind)(const BlockActivation& activation, char* panel, int channels);
  const BlockActivation* activation;
};

template <typename Results>
struct AmxCall {
  const AmxPixels* pixels;
  int64_t pixel_step;  // bytes between pixels
  AmxShape shape;
  const int64_t* offsets;  // by step, in bytes
  int64_t steps;
  const char* weights;  // [steps, panels, depth / kDepth, kPanel, kDepth bytes]
  const char* ahead;    // weights to prefetch meanwhile, of the same size; null: none
  AmxStream stream;
  const void* start;  // initial sums by channel, padded to whole panels
  int64_t channel, channels;
  Results results;
};

// The sums of a block that are not stored yet.
template <typename Results>
struct AmxPending {
  Results results = {};
  int64_t channel = 0, channels = 0;
  uint8_t* const* dst = nullptr;  // by pixel
  const uint8_t* const* z = nullptr;
  const uint8_t* rows = nullptr;
  const int32_t* sums = nullptr;  // panels [kAmxBlockRows, kPanel]; the bits of floats are floats'
  int64_t pixels = 0;             // with results
  int64_t next = 0, pieces = 0;   // of those in which they are stored
};

// A thread's state between calls. The last call's pixels and results are read until `finish`.
template <typename Results>
struct AmxState {
  alignas(64) int32_t sums[2][kAmxPanels * kAmxBlockRows * kPanel];
  int current = 0;  // the sums of the next block
  AmxPending<Results> pending;
};

template <typename Results>
struct AmxFunctions {
  // By the kind of pixels: unsigned or signed bytes; or BFloat16 alone.
  void (*run[2])(const AmxCall<Results>& call, AmxState<Results>& state);
  void (*finish)(AmxState<Results>& state);  // stores the last block
};

// The code for one engine. Each thread configures its registers before calls and releases them
// afterwards: a released state costs context switches nothing.
struct AmxCode {
  Isa isa;                    // of its vectors
  absl::Status (*request)();  // asks the system, once per process
  void (*configure)(const AmxShape& shape);
  void (*release)();
  AmxFunctions<AmxBytes> bytes;
  AmxFunctions<AmxFloats> floats;

  template <typename Results>
  const AmxFunctions<Results>& of() const {
    if constexpr (std::is_same_v<Results, AmxBytes>) {
      return bytes;
    } else {
      return floats;
    }
  }
};

// Returns the instructions; in tests on other processors, their emulation.
const AmxCode& AmxCodeHere();
// The same of BFloat16 without tiles, by AVX512_BF16's vectors (dots_code.h). Sums of these depend
// on nothing but the order of channels.
const AmxCode& DotCodeHere();

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_AMX_TILES_H_
