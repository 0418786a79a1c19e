// Work done by a child, which may end as it likes.
#ifndef ASHLAR_TOOLS_CHILD_PROCESS_H_
#define ASHLAR_TOOLS_CHILD_PROCESS_H_

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "tools/json_output.h"

namespace ashlar {

// The result of `work` in a forked child whose limits and memory are its own. An error of it keeps
// its code and message. Unknown where the child ended by itself, and says how.
absl::StatusOr<Json> InChild(absl::FunctionRef<absl::StatusOr<Json>()> work);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_CHILD_PROCESS_H_
