// Writes a plan as a program in C99: no allocation, no recursion, every address a constant.
#ifndef ASHLAR_CODEGEN_C_PROGRAM_H_
#define ASHLAR_CODEGEN_C_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/self_test.h"
#include "runtime/session/executable.h"

namespace ashlar {

struct CFile {
  std::string name, text;
};

// Bytes of constants that the program reads, and of the caller's memory.
struct CProgramSizes {
  int64_t arena = 0, states = 0, inputs = 0, outputs = 0;
  int64_t weights = 0;               // of the model, in the functions' layouts
  int64_t tables = 0;                // that functions need
  int64_t shapes = 0;                // structs of sizes and steps
  int64_t order = 0;                 // the table of calls, if there is one
  int steps = 0;                     // calls
  std::vector<std::string> kernels;  // function names
};

struct CProgram {
  std::vector<CFile> files;
  CProgramSizes sizes;
};

struct CProgramOptions {
  std::string name;   // IsIdentifier
  std::string title;  // of the model, for comments
};

// Writes NAME.h, NAME.c, NAME_weights.c, ashlar_kernels.h, ashlar_kernels.c and NAME_test.c.
absl::StatusOr<CProgram> WriteCProgram(const Executable& executable, const SelfTest& test,
                                       const CProgramOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_C_PROGRAM_H_
