// Two profile dumps side by side.
#ifndef ASHLAR_TOOLS_COMPARE_DUMPS_H_
#define ASHLAR_TOOLS_COMPARE_DUMPS_H_

#include <string>

#include "absl/status/status.h"
#include "tools/console.h"

namespace ashlar {

// Order, placement and peak, then time and bytes by operator type and of the operators whose times
// differ most. Operators are the same where ids and types are. Finds no side wrong: differences
// are no error.
absl::Status CompareDumps(const std::string& path_a, const std::string& path_b, Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_COMPARE_DUMPS_H_
