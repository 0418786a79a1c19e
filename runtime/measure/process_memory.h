// This process's memory as the operating system counts it, and pages that it gets back.
#ifndef ASHLAR_RUNTIME_MEASURE_PROCESS_MEMORY_H_
#define ASHLAR_RUNTIME_MEASURE_PROCESS_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/plan/planned_graph.h"

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

// From here on threads share one heap, if they have none of their own yet: it takes fewer
// addresses, and all freed memory can go back. For programs only.
void UseOneHeap();

// From here on freed memory stays the heap's, and no block is mapped by itself, so that the
// process has as many addresses as it needed at most. For programs only.
void KeepFreedMemory();

// RLIMIT_AS: so many bytes of addresses more than the process has now, with 4 MiB in its heap for
// what small blocks need later. For children only, behind KeepFreedMemory.
absl::Status LimitFurtherAddresses(int64_t bytes);

// Pages of the program and its libraries leave the resident set; those that are still needed come
// back, at a page fault for sixteen of them. What loading and planning executed is most of a small
// process.
void LetGoOfCode();

// What a process of `ashlar` takes beside a model and its plan once it has let go of code, in a
// release build, bytes: stated, so that plans do not depend on what a measurement says. `verify`
// compares the sum with the peak.
int64_t ProcessBytes(int threads);

// Bytes of addresses (ulimit -v) with which a process can run the plan: mapped files as they are
// now, what the plan needs, stacks, and a stated allowance for the heap while planning.
int64_t AddressesNeeded(const PlannedGraph& planned, bool in_file);

// ResourceExhausted, naming both numbers, where there is a limit and it is lower.
absl::Status CheckAddresses(int64_t needed);

// ResourceExhausted, naming both numbers, where the resident set was larger than a budget for the
// total before any weights were packed. Builds with sanitizers, in which the heap is not counted,
// have memory of their own.
absl::Status CheckPlanningPeak(int64_t total_budget);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_PROCESS_MEMORY_H_
