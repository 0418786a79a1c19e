// Joins the files of a program in C99 into one.
#ifndef ASHLAR_CODEGEN_C_SINGLE_FILE_H_
#define ASHLAR_CODEGEN_C_SINGLE_FILE_H_

#include <string>

#include "codegen/c_program.h"

namespace ashlar {

// Returns a header that is also the program: one source defines NAME_IMPLEMENTATION before it
// includes it. With NAME_TEST, too, it is the self-test.
std::string SingleFileOf(const CProgram& program, const std::string& name);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_C_SINGLE_FILE_H_
