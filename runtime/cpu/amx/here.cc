// Apart from all else: the tests link other functions before the library.
#include "runtime/cpu/amx/tiles.h"

namespace ashlar::cpu {

extern const AmxCode kAmxInstructions, kDotInstructions;

const AmxCode& AmxCodeHere() { return kAmxInstructions; }

const AmxCode& DotCodeHere() { return kDotInstructions; }

}  // namespace ashlar::cpu
