// Pages of the program and its libraries, as far as they are read from files: the system can drop
// them and read them again.
#ifndef ASHLAR_RUNTIME_DEVICE_CODE_PAGES_H_
#define ASHLAR_RUNTIME_DEVICE_CODE_PAGES_H_

#include "absl/status/status.h"

namespace ashlar {

// Removes pages of the program and its libraries from the resident set. Pages that are needed again
// return, with one page fault for sixteen of them. Code for loading and planning is most of a small
// process.
void LetGoOfCode();

// The same for the library, or the program, that this function is in, or for the program with all
// its libraries. Then locks the pages that are needed again as they return, and without their
// neighbours. Otherwise a memory control group that is nearly full drops pages of code, and some
// systems read 8 MiB to have one of them back. Unavailable, naming the limit, if the process may
// not lock all of it (RLIMIT_MEMLOCK).
enum class CodeOf { kThisLibrary, kProgram };
absl::Status LockCodeOnUse(CodeOf whose);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_CODE_PAGES_H_
