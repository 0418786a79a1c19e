// Messages that may hold names out of files.
#ifndef ASHLAR_LIBRARY_PRINTABLE_H_
#define ASHLAR_LIBRARY_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ashlar {

// A message as lines of a log: control characters and what is no UTF-8 as "\\x1b", a line's end as
// "\\n" where no line of the message's own follows, which begin with two spaces. Names out of files
// forge no line and reach no terminal's controls (CWE-117).
std::string Printable(absl::string_view message);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_PRINTABLE_H_
