// Counts the process's heap allocations, and whose they are.
//
// Linking this replaces malloc and its relatives for the whole process with counting ones on top of
// the C library's. Sanitizers bring their own allocator: there nothing is counted.
#ifndef ASHLAR_RUNTIME_MEASURE_HEAP_HEAP_COUNTER_H_
#define ASHLAR_RUNTIME_MEASURE_HEAP_HEAP_COUNTER_H_

#include <cstdint>

namespace ashlar {

struct HeapCounts {
  int64_t own_calls = 0;          // allocations inside Session::Run, outside of libraries
  int64_t own_bytes = 0;          // asked for by them
  int64_t library_calls = 0;      // by libraries, on any thread
  int64_t library_net_bytes = 0;  // allocated less freed by them
};

// False under sanitizers.
bool HeapCountingAvailable();

// Counts from zero until StopHeapCounting. One counting at a time.
void StartHeapCounting();
HeapCounts StopHeapCounting();

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_HEAP_HEAP_COUNTER_H_
