// Compares the plan recorded in a profile dump with Ashlar's plan.
#ifndef ASHLAR_TOOLS_REPORT_INSPECT_DUMP_H_
#define ASHLAR_TOOLS_REPORT_INSPECT_DUMP_H_

#include <string>

#include "absl/status/status.h"
#include "tools/console.h"

namespace ashlar {

struct InspectDumpFlags {
  std::string path;
  // The files for the recorded placement and for ours of the same problem: .csv, .svg or .html;
  // empty: none. In both, steps follow the recorded order.
  std::string recorded_plan, own_plan;
};

// Prints the memory of the run and of three plans: the recorded problem without and with in-place
// operators, and Ashlar's own. Prints the time by operator type.
absl::Status InspectDump(const InspectDumpFlags& flags, Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_INSPECT_DUMP_H_
