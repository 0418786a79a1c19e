// Apart from all else: the tests link another AmxCodeHere before the library.
#include "runtime/cpu/amx/tiles.h"

namespace ashlar::cpu {

extern const AmxCode kAmxInstructions;

const AmxCode& AmxCodeHere() { return kAmxInstructions; }

}  // namespace ashlar::cpu
