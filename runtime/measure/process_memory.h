// What the operating system says of this process's memory, and what it gets back.
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

// Blocks that were freed, such as constants that packing has replaced, go back to the system. For
// programs only: it is of the heap of the whole process.
void ReturnFreedMemory();

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_PROCESS_MEMORY_H_
