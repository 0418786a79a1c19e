// The peak arithmetic rate of a core of this machine.
#ifndef ASHLAR_RUNTIME_CPU_CONV_PEAK_H_
#define ASHLAR_RUNTIME_CPU_CONV_PEAK_H_

namespace ashlar::cpu {

// Returns Float32 operations per second of one core. A multiplication and an addition count as two.
// The first call in a process measures for about 20 ms, by a loop that only computes. Returns 0 if
// there is no such loop for this processor.
double PeakFlops();

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_PEAK_H_
