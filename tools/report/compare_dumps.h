// Compares two profile dumps.
#ifndef ASHLAR_TOOLS_REPORT_COMPARE_DUMPS_H_
#define ASHLAR_TOOLS_REPORT_COMPARE_DUMPS_H_

#include <string>

#include "absl/status/status.h"
#include "tools/console.h"

namespace ashlar {

// Prints order, placement and peak, then time and bytes by operator type, and the operators whose
// times differ most. Operators are matched by id and type. Differences are not errors: neither side
// is the reference.
absl::Status CompareDumps(const std::string& path_a, const std::string& path_b, Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_COMPARE_DUMPS_H_
