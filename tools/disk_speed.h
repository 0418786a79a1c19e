// Measures the speed of the disk that a file is on.
#ifndef ASHLAR_TOOLS_DISK_SPEED_H_
#define ASHLAR_TOOLS_DISK_SPEED_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/plan/request/kernel_record.h"

namespace ashlar {

// Reads parts of the file as weights are read, after the system has forgotten what it cached of it.
// FailedPrecondition if the file is too small for a measurement.
absl::StatusOr<DiskSpeed> MeasureDisk(const std::string& path);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_DISK_SPEED_H_
