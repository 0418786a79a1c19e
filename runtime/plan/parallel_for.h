// Independent pieces of planning, on several threads.
#ifndef ASHLAR_RUNTIME_PLAN_PARALLEL_FOR_H_
#define ASHLAR_RUNTIME_PLAN_PARALLEL_FOR_H_

#include <cstddef>
#include <stop_token>

#include "absl/functional/function_ref.h"

namespace ashlar {

// Calls body(i) once for each i of [0, count), on as many threads as the process has cores, and
// returns when all are done, or throws memory::Stopped between them. The order is open: a call
// writes memory of its own, and no plan may depend on the number of threads.
void ParallelFor(size_t count, const std::stop_token& stop, absl::FunctionRef<void(size_t)> body);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_PARALLEL_FOR_H_
