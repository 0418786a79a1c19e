#include "runtime/cpu/quantized/tile.h"

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
#else
const TileCode* TileCodeFor(const Processor&) { return nullptr; }
#endif

}  // namespace ashlar::cpu
