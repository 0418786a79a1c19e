// What the operating system says of this process's memory.
#ifndef ASHLAR_RUNTIME_MEASURE_PROCESS_MEMORY_H_
#define ASHLAR_RUNTIME_MEASURE_PROCESS_MEMORY_H_

#include <cstdint>

namespace ashlar {

struct ResidentSet {
  int64_t current = 0;  // bytes resident now
  int64_t peak = 0;     // the most there ever were
};

// From /proc/self/status; zeros where it cannot be read.
ResidentSet ReadResidentSet();

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_PROCESS_MEMORY_H_
