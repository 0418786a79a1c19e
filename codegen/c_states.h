// The text for states between runs: the macros of their memory, and the function that writes their
// first values.
#ifndef ASHLAR_CODEGEN_C_STATES_H_
#define ASHLAR_CODEGEN_C_STATES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ashlar {

// The memory of a program's states.
struct CStateMemory {
  // Constants that the reset copies.
  struct FirstValue {
    std::string array;
    int64_t offset = 0, bytes = 0;
  };
  std::string program, macro;  // "net", "NET"
  int64_t bytes = 0, alignment = 1;
  std::vector<FirstValue> first_values;  // of states that do not begin with zeros
};

std::string StateMacros(const CStateMemory& states);
std::string ResetDeclaration(const CStateMemory& states);
std::string ResetFunction(const CStateMemory& states);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_C_STATES_H_
