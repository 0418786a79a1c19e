// Compiled for each command: the rest of its tests' support is not.
#include "tests/support/command/command_path.h"

namespace ashlar::testing {

const char* CommandPath() { return ASHLAR_COMMAND; }

}  // namespace ashlar::testing
