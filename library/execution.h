// Device, threads and precision of a run, as options of programs and of the command.
#ifndef ASHLAR_LIBRARY_EXECUTION_H_
#define ASHLAR_LIBRARY_EXECUTION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/dtype.h"
#include "library/model.h"
#include "runtime/plan/request/kernel_record.h"
#include "runtime/plan/request/plan_target.h"

namespace ashlar {

// Returns the number of processors that this process may use.
int DefaultThreads();

// Reads the kernel record from a file, for the requested processor or the device's. A record only
// saves time: if it cannot be read or the device is missing, returns null and sends a note.
std::shared_ptr<const KernelRecord> RecordFor(const std::string& path, const PlanTarget& target,
                                              const NoteListener& note);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_EXECUTION_H_
