// Runs work in a child process, which may crash safely.
#ifndef ASHLAR_TOOLS_CHILD_PROCESS_H_
#define ASHLAR_TOOLS_CHILD_PROCESS_H_

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "tools/json_output.h"

namespace ashlar {

// Returns the result of `work`, run in a forked child with its own limits and memory. An error
// keeps its code and message. Unknown, saying how the child ended, if it ended without a result.
absl::StatusOr<Json> InChild(absl::FunctionRef<absl::StatusOr<Json>()> work);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_CHILD_PROCESS_H_
