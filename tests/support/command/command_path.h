// The command that a program's tests run.
#ifndef ASHLAR_TESTS_SUPPORT_COMMAND_COMMAND_PATH_H_
#define ASHLAR_TESTS_SUPPORT_COMMAND_COMMAND_PATH_H_

namespace ashlar::testing {

// Returns its absolute path.
const char* CommandPath();

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_COMMAND_COMMAND_PATH_H_
