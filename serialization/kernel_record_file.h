// Kernel records in a file: JSON, by processor and problem.
#ifndef ASHLAR_SERIALIZATION_KERNEL_RECORD_FILE_H_
#define ASHLAR_SERIALIZATION_KERNEL_RECORD_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/plan/kernel_record.h"

namespace ashlar {

// The part of the file for a processor; empty where it has nothing for it, or where there is no
// file. Choices are under "processors", speeds under "speeds" and tiles under "tiles", which a file
// need not have.
// InvalidArgument names the file and the place where it is no such record.
absl::StatusOr<KernelRecord> LoadKernelRecord(const std::string& path,
                                              const std::string& processor);

// Puts the record's choices, speeds and tiles into the file, in place of its older ones for the
// same processor, problems, graphs and numbers of threads; all else stays, also choices that
// another process has put there since. Makes the file's folder where there is none.
absl::Status MergeKernelRecord(const std::string& path, const std::string& processor,
                               const KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_KERNEL_RECORD_FILE_H_
