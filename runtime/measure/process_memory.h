// This process's memory as counted by the operating system, and functions that return pages to it.
#ifndef ASHLAR_RUNTIME_MEASURE_PROCESS_MEMORY_H_
#define ASHLAR_RUNTIME_MEASURE_PROCESS_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

struct ResidentSet {
  int64_t current = 0;  // bytes resident now
  int64_t peak = 0;     // the largest value so far
};

// Reads /proc/self/status; returns zeros if it cannot be read.
ResidentSet ReadResidentSet();

// Returns freed blocks to the system, such as constants that packing has replaced. For programs
// only, because it affects the heap of the whole process.
void ReturnFreedMemory();

// Makes threads without a heap of their own share one from now on: it takes fewer addresses, and
// all freed memory can be returned. For programs only.
void UseOneHeap();

// From now on keeps freed memory in the heap, and maps no block separately, so that the process's
// addresses equal the most it needed. For programs only.
void KeepFreedMemory();

// Sets RLIMIT_AS to the present addresses of the process plus `bytes`, with 4 MiB in its heap for
// later small blocks. For child processes only, after KeepFreedMemory.
absl::Status LimitFurtherAddresses(int64_t bytes);

// Returns the bytes of an `ashlar` process besides a model and its plan, after LetGoOfCode, in a
// release build. This is a constant estimate, so that plans do not depend on measurements. `verify`
// compares the sum with the peak.
int64_t ProcessBytes(int threads);

// Returns the bytes of addresses (ulimit -v) with which a process can run the plan: the files
// mapped now, the plan's memory, stacks, and an allowance for the heap while planning.
int64_t AddressesNeeded(const PlannedGraph& planned, bool in_file);

// Returns ResourceExhausted, naming both numbers, if the limit of addresses is lower.
absl::Status CheckAddresses(int64_t needed);

// Returns ResourceExhausted, naming both numbers, if the resident set exceeded a budget for the
// total before any weights were packed. Builds with sanitizers are not checked: their heap is not
// counted.
absl::Status CheckPlanningPeak(int64_t total_budget);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_PROCESS_MEMORY_H_
