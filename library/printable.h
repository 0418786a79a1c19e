// Messages that may contain names from files.
#ifndef ASHLAR_LIBRARY_PRINTABLE_H_
#define ASHLAR_LIBRARY_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ashlar {

// Returns a message that is safe in a log: control characters and invalid UTF-8 become "\\x1b". A
// newline becomes "\\n" unless the next line begins with two spaces, as the message's own lines do.
// So names from files can neither forge a line nor control a terminal (CWE-117).
std::string Printable(absl::string_view message);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_PRINTABLE_H_
