// Measures this processor's speeds (operations and bytes per millisecond), to estimate the times of
// plans.
#ifndef ASHLAR_RUNTIME_CPU_MEASURED_SPEEDS_H_
#define ASHLAR_RUNTIME_CPU_MEASURED_SPEEDS_H_

#include "absl/status/statusor.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

// Measures `threads` threads together, with the instruction set and caches of `processor`, which
// must be able to run here. Takes the best of a few trials of some milliseconds, half a second in
// total. Returns ResourceExhausted if it cannot allocate 256 MiB, or four times the second-level
// caches if that is more.
absl::StatusOr<MeasuredSpeeds> MeasureSpeeds(const Processor& processor, int threads);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_MEASURED_SPEEDS_H_
