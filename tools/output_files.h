// The files that a command may write to.
#ifndef ASHLAR_TOOLS_OUTPUT_FILES_H_
#define ASHLAR_TOOLS_OUTPUT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ashlar {

// A usage error where an output is a file that the command line names for something else, to be
// read or to be written, under this name or another; an error where it could not be written.
// `outputs`: paths, "" are none. `values`: of all arguments and options, those of the outputs among
// them; "NAME=PATH" counts as both. Pipes, devices and terminals may be named twice.
absl::Status CheckOutputFiles(const std::vector<std::string>& outputs,
                              std::vector<std::string> values);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_OUTPUT_FILES_H_
