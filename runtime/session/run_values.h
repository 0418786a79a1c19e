// The value of every var of a run, as it is made.
#ifndef ASHLAR_RUNTIME_SESSION_RUN_VALUES_H_
#define ASHLAR_RUNTIME_SESSION_RUN_VALUES_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/session/session.h"

namespace ashlar {

// Runs the session once, which is bound, and shows each var with a copy of its value, row-major. An
// error that `visit` returns is the result. Values that share the caller's input are left out.
absl::Status RunAndVisit(
    Session& session,
    absl::FunctionRef<absl::Status(const Var& var, const HostTensor& value)> visit);

// The tensor whose bytes are stored at `data` in the type's format.
HostTensor RowMajor(const TensorType& type, const char* data);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_RUN_VALUES_H_
