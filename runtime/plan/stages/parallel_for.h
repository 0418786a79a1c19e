// Runs independent planning tasks on several threads.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_PARALLEL_FOR_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_PARALLEL_FOR_H_

#include <cstddef>
#include <cstdint>
#include <stop_token>

#include "absl/functional/function_ref.h"

namespace ashlar {

// Returns the number of cores that ParallelFor uses.
int64_t CoresForPlanning();

// Calls body(i) once for each i of [0, count), on as many threads as the process has cores. Returns
// when all calls are done; throws memory::Stopped between calls if a stop is requested. The order
// is not defined: each call writes only its own memory, and no plan may depend on the number of
// threads.
void ParallelFor(size_t count, const std::stop_token& stop, absl::FunctionRef<void(size_t)> body);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_PARALLEL_FOR_H_
