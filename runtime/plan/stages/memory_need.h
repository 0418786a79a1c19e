// All memory that a process takes to load and run a model, by purpose.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_MEMORY_NEED_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_MEMORY_NEED_H_

#include <cstdint>
#include <string>

#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

// The memory of a process, in bytes of the resident set.
struct MemoryNeed {
  int64_t arena = 0;
  int64_t weights = 0;  // packed in memory
  int64_t file = 0;     // weights used directly from a mapped file
  int64_t state = 0;
  int64_t input = 0, output = 0;
  // Peak of packing the weights, beyond arena and outputs, which are not in use at that time.
  int64_t packing = 0;
  int64_t process = 0;  // code, libraries, stacks, and the heap with graph and plan
  // Peak of reading and planning, beyond all of the above.
  int64_t planning = 0;

  int64_t total() const {
    return arena + weights + file + state + input + output + packing + process + planning;
  }
  // "arena 5218304, weights 102121888, ..."
  std::string ToString() const;
};

// Estimates the peak of the process until it has planned a graph like this one. `searched`: the
// number of rewrites that tiles are searched for. `in_file`: the weights are packed in a file.
int64_t PlanningBytes(const PlannedGraph& planned, int64_t process_bytes, int searched,
                      bool in_file = false);

// Returns the memory of a plan. `process_bytes`: memory of the process without the model.
// `in_file`: the weights are packed in a file.
MemoryNeed NeedOf(const PlannedGraph& planned, int64_t process_bytes, bool in_file = false);

// Says which parts of a total grew, the largest growth first: "weights by 1234 bytes (packed for
// the kernels of tiles), process by 567 (more operators)".
std::string DescribeGrowth(const MemoryNeed& before, const MemoryNeed& after);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_MEMORY_NEED_H_
