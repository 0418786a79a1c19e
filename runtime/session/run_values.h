// Reads the value of every var during a run.
#ifndef ASHLAR_RUNTIME_SESSION_RUN_VALUES_H_
#define ASHLAR_RUNTIME_SESSION_RUN_VALUES_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/session/session.h"

namespace ashlar {

// Runs the session once (its tensors must be bound), and calls `visit` for each var with a
// row-major copy of its value. Returns the error of `visit` if there is one. Omits values that
// share the caller's input.
absl::Status RunAndVisit(
    Session& session,
    absl::FunctionRef<absl::Status(const Var& var, const HostTensor& value)> visit);

// Returns the row-major tensor of the bytes at `data`, which are in the type's format.
HostTensor RowMajor(const TensorType& type, const char* data);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_RUN_VALUES_H_
