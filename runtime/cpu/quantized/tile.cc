#include "runtime/cpu/quantized/tile.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "runtime/cpu/host_processor.h"

namespace ashlar::cpu {

#if defined(__x86_64__)
extern const TileCode kTileAvx2, kTileAvx2Vnni, kTileAvx2VnniEvex, kTileAvx512, kTileAvx512Vnni;

const TileCode* TileCodeFor(const Processor& processor) {
  if (processor.isa == Isa::kAvx512) return processor.vnni ? &kTileAvx512Vnni : &kTileAvx512;
  if (processor.isa != Isa::kAvx2) return nullptr;
  if (!processor.vnni) return &kTileAvx2;
  return HasAvxVnni() ? &kTileAvx2Vnni : &kTileAvx2VnniEvex;
}
#elif defined(__aarch64__)
extern const TileCode kTileNeon, kTileNeonDot, kTileNeonI8mm;

const TileCode* TileCodeFor(const Processor& processor) {
  static const bool has_dot_products = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  static const bool has_matrices = (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
  if (processor.isa != Isa::kNeon) return nullptr;
  if (!has_dot_products) return &kTileNeon;
  return has_matrices ? &kTileNeonI8mm : &kTileNeonDot;
}
#else
const TileCode* TileCodeFor(const Processor&) { return nullptr; }
#endif

}  // namespace ashlar::cpu
