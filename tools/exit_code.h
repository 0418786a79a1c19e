// The exit codes of the command, and how an error carries one.
#ifndef ASHLAR_TOOLS_EXIT_CODE_H_
#define ASHLAR_TOOLS_EXIT_CODE_H_

#include "absl/status/status.h"

namespace ashlar {

enum class ExitCode {
  kOk = 0,
  kFailure = 1,        // at run time
  kUsage = 2,          // in the command line
  kDoesNotFit = 3,     // no plan within the allowed or available memory
  kOverrun = 4,        // actual memory exceeds planned
  kMismatch = 5,       // outputs differ by more than the tolerance
  kRejectedInput = 6,  // a faulty model, dump, CSV, array or image file
  kInterrupted = 130,  // by the user; shells report it for a process ended by SIGINT
};

// Returns the same error, annotated with an exit code. An error that has a code keeps it. If memory
// is too small to read a file, kRejectedInput becomes kDoesNotFit, because the file is not at
// fault.
absl::Status WithExitCode(absl::Status status, ExitCode code);

// Returns the exit code of an error: the code of WithExitCode, if it has one. Otherwise kUsage for
// tiles that the graph does not have, kRejectedInput for damaged weights, kDoesNotFit for
// ResourceExhausted, and kFailure for any other error.
ExitCode ExitCodeOf(const absl::Status& status);

inline absl::Status UsageError(absl::string_view message) {
  return WithExitCode(absl::InvalidArgumentError(message), ExitCode::kUsage);
}

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_EXIT_CODE_H_
