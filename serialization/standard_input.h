// Piped input of the command as a file.
#ifndef ASHLAR_SERIALIZATION_STANDARD_INPUT_H_
#define ASHLAR_SERIALIZATION_STANDARD_INPUT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "serialization/mapped_file.h"

namespace ashlar {

// Reads standard input to its end, into an unnamed file. Returns InvalidArgument if it has more
// than `most` bytes.
absl::StatusOr<std::shared_ptr<const MappedFile>> MapStandardInput(int64_t most);

// Whether the path names a pipe, such as a shell's <(command).
bool IsPipe(const std::string& path);

// Opens a file, or reads a pipe to its end as MapStandardInput does.
absl::StatusOr<std::shared_ptr<const MappedFile>> MapFileOrPipe(const std::string& path,
                                                                int64_t most);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_STANDARD_INPUT_H_
