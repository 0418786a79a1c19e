// Stores kernel records in a JSON file, by processor and problem.
#ifndef ASHLAR_SERIALIZATION_KERNEL_RECORD_FILE_H_
#define ASHLAR_SERIALIZATION_KERNEL_RECORD_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/plan/request/kernel_record.h"

namespace ashlar {

// Returns the file's record for a processor; empty if the file or the record does not exist.
// Choices are under "processors", speeds under "speeds" and tiles under "tiles", each optional.
// Returns InvalidArgument, naming the file and the place, if it is not a valid record.
absl::StatusOr<KernelRecord> LoadKernelRecord(const std::string& path,
                                              const std::string& processor);

// Adds the record's choices, speeds and tiles to the file. They replace older ones for the same
// processor, problems, graphs and numbers of threads. Everything else stays, including choices that
// another process has added meanwhile. Creates the file's folder if needed.
absl::Status MergeKernelRecord(const std::string& path, const std::string& processor,
                               const KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_KERNEL_RECORD_FILE_H_
