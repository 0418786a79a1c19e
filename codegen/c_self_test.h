// The text of a program's self-test, NAME_test.c.
#ifndef ASHLAR_CODEGEN_C_SELF_TEST_H_
#define ASHLAR_CODEGEN_C_SELF_TEST_H_

#include <string>

#include "codegen/c_border.h"
#include "codegen/self_test.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

// Writes the test of program `name`, with the inputs and checksums of `test`.
std::string SelfTestProgram(const PlannedGraph& planned, const CBorder& border,
                            const SelfTest& test, const std::string& name);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_C_SELF_TEST_H_
