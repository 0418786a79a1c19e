// The exit codes of the command, and how an error carries its own.
#ifndef ASHLAR_TOOLS_EXIT_CODE_H_
#define ASHLAR_TOOLS_EXIT_CODE_H_

#include "absl/status/status.h"

namespace ashlar {

enum class ExitCode {
  kOk = 0,
  kFailure = 1,        // at run time
  kUsage = 2,          // of the command line
  kDoesNotFit = 3,     // no plan within the memory that is allowed or there
  kOverrun = 4,        // actual memory exceeds planned
  kMismatch = 5,       // outputs differ by more than the tolerance
  kRejectedInput = 6,  // a model, dump, CSV, array or image file
  kInterrupted = 130,  // by the user, as shells say of a process that SIGINT ended
};

// The same error, to end the program with this code. An error that has a code keeps it; and memory
// that does not suffice to read a file is no fault of the file: kRejectedInput becomes kDoesNotFit.
absl::Status WithExitCode(absl::Status status, ExitCode code);

// The one place where an exit code is decided: that of WithExitCode, else kUsage for tiles that the
// graph does not have, kRejectedInput for weights that are damaged, kDoesNotFit for
// ResourceExhausted and kFailure for any other error.
ExitCode ExitCodeOf(const absl::Status& status);

inline absl::Status UsageError(absl::string_view message) {
  return WithExitCode(absl::InvalidArgumentError(message), ExitCode::kUsage);
}

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_EXIT_CODE_H_
