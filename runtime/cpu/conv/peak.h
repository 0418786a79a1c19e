// The peak rate of a core of this machine.
#ifndef ASHLAR_RUNTIME_CPU_CONV_PEAK_H_
#define ASHLAR_RUNTIME_CPU_CONV_PEAK_H_

namespace ashlar::cpu {

// Float32 operations a second of one core, a multiplication and an addition counted as two:
// measured by a loop that does nothing else, in some 20 ms; the first call of a process measures. 0
// where there is no such loop for the processor.
double PeakFlops();

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_PEAK_H_
