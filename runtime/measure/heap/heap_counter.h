// Counts the process's heap allocations, and whether Ashlar or a library made them.
//
// Linking this replaces malloc and its relatives for the whole process with counting functions that
// call the C library's. Sanitizers have their own allocator: with them nothing is counted.
#ifndef ASHLAR_RUNTIME_MEASURE_HEAP_HEAP_COUNTER_H_
#define ASHLAR_RUNTIME_MEASURE_HEAP_HEAP_COUNTER_H_

#include <cstdint>

namespace ashlar {

struct HeapCounts {
  int64_t own_calls = 0;          // allocations inside Session::Run, outside libraries
  int64_t own_bytes = 0;          // requested by them
  int64_t library_calls = 0;      // by libraries, on any thread
  int64_t library_net_bytes = 0;  // allocated minus freed by them
};

// Returns false under sanitizers.
bool HeapCountingAvailable();

// Counts from zero until StopHeapCounting. Only one count at a time.
void StartHeapCounting();
HeapCounts StopHeapCounting();

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_HEAP_HEAP_COUNTER_H_
