// Apart from all else: the tests link another AmxCodeHere before the library.
#include "runtime/cpu/quantized/amx.h"

namespace ashlar::cpu {

extern const AmxCode kAmxInstructions;

const AmxCode& AmxCodeHere() { return kAmxInstructions; }

}  // namespace ashlar::cpu
