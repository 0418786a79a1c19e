// The plan that a profile dump recorded, beside Ashlar's.
#ifndef ASHLAR_TOOLS_INSPECT_DUMP_H_
#define ASHLAR_TOOLS_INSPECT_DUMP_H_

#include <string>

#include "absl/status/status.h"
#include "tools/console.h"

namespace ashlar {

struct InspectDumpFlags {
  std::string path;
  // Where the recorded placement goes, and ours of the same problem: .csv, .svg or .html; empty:
  // nowhere. In both, steps are those of the recorded order.
  std::string recorded_plan, own_plan;
};

// Memory of the run and of three plans (the recorded problem without and with in-place operators,
// and Ashlar's own), and time by operator type.
absl::Status InspectDump(const InspectDumpFlags& flags, Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_INSPECT_DUMP_H_
