// Compiled for each command; the rest of the tests' support is compiled once.
#include "tests/support/command/command_path.h"

namespace ashlar::testing {

const char* CommandPath() { return ASHLAR_COMMAND; }

}  // namespace ashlar::testing
