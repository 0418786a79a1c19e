// Checks the files that a command may write to.
#ifndef ASHLAR_TOOLS_OUTPUT_FILES_H_
#define ASHLAR_TOOLS_OUTPUT_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ashlar {

// Returns a usage error if the command line also names an output file for another purpose (reading
// or writing), under the same name or another; an error if it cannot be written. `outputs`: paths;
// "" means none. `values`: the values of all arguments and options, outputs included; "NAME=PATH"
// counts as both. Pipes, devices and terminals may be named twice.
absl::Status CheckOutputFiles(const std::vector<std::string>& outputs,
                              std::vector<std::string> values);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_OUTPUT_FILES_H_
