// The instructions that a call is expected to take on a microcontroller. They are no cycles: memory
// that waits, caches and pipelines are unknown.
#ifndef ASHLAR_RUNTIME_MCU_INSTRUCTIONS_H_
#define ASHLAR_RUNTIME_MCU_INSTRUCTIONS_H_

#include "absl/strings/string_view.h"
#include "runtime/device/processor.h"
#include "runtime/mcu/work.h"

namespace ashlar::mcu {

// Returns the instructions of a function of c99/, from a table that was fitted to counts under
// emulation (benchmarks/fit_instructions.py). kGeneric and kNone: portable C on a
// Cortex-M4.
double ExpectedInstructions(absl::string_view function, const CodeWork& work,
                            Microcontroller microcontroller);

}  // namespace ashlar::mcu

#endif  // ASHLAR_RUNTIME_MCU_INSTRUCTIONS_H_
