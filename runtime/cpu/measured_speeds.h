// What this processor does in a millisecond, measured: for estimates of plans' times.
#ifndef ASHLAR_RUNTIME_CPU_MEASURED_SPEEDS_H_
#define ASHLAR_RUNTIME_CPU_MEASURED_SPEEDS_H_

#include "absl/status/statusor.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

// Of so many threads together, with the instruction set and the caches of `processor`, which must
// run here: the best of a few trials of some milliseconds, half a second in all. ResourceExhausted
// where there is no memory for it: 256 MiB, or four times the second-level caches where that is
// more.
absl::StatusOr<MeasuredSpeeds> MeasureSpeeds(const Processor& processor, int threads);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_MEASURED_SPEEDS_H_
