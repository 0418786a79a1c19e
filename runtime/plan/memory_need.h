// All that a process takes to load and run a model, part by part.
#ifndef ASHLAR_RUNTIME_PLAN_MEMORY_NEED_H_
#define ASHLAR_RUNTIME_PLAN_MEMORY_NEED_H_

#include <cstdint>
#include <string>

#include "runtime/plan/planned_graph.h"

namespace ashlar {

// Bytes of the resident set.
struct MemoryNeed {
  int64_t arena = 0;
  int64_t weights = 0;  // packed in memory
  int64_t file = 0;     // weights that are used where they lie in a mapped file
  int64_t state = 0;
  int64_t input = 0, output = 0;
  // By which packing the weights takes more, for a while, than arena and outputs do afterwards.
  int64_t packing = 0;
  int64_t process = 0;  // code, libraries, stacks, and the heap with graph and plan
  // By which reading and planning take more, for a while, than all of these.
  int64_t planning = 0;

  int64_t total() const {
    return arena + weights + file + state + input + output + packing + process + planning;
  }
  // "arena 5218304, weights 102121888, ..."
  std::string ToString() const;
};

// What the process takes at most until it has planned a graph like this one, as it is stated;
// `searched`: of how many rewritings tiles are searched for.
int64_t PlanningBytes(const PlannedGraph& planned, int64_t process_bytes, int searched);

// `process_bytes`: of the process beside the model. `in_file`: the weights were packed before, and
// lie in a file.
MemoryNeed NeedOf(const PlannedGraph& planned, int64_t process_bytes, bool in_file = false);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_MEMORY_NEED_H_
