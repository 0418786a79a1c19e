// The calls of a program, written one by one, or as a table if most are repeated.
#ifndef ASHLAR_CODEGEN_C_CALLS_H_
#define ASHLAR_CODEGEN_C_CALLS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ashlar {

// An argument: an expression, perhaps with a number that differs between calls, which is an offset
// in bytes from `base`, or the index of an element of the array `base`.
struct CArgument {
  std::string base;
  std::optional<int64_t> number;
  bool is_element = false;

  std::string Text(absl::string_view written) const;
};

// A line of the program: a call, or a report of a tensor.
struct CLine {
  std::string node;  // named before its first line; otherwise empty
  std::string before, after;
  std::vector<CArgument> arguments;  // between these
  bool is_trace = false;
};

struct CCalls {
  std::string order;               // the table of calls, if there is one
  int64_t order_bytes = 0;         // of the table
  std::vector<std::string> parts;  // bodies of functions, called one after the other
};

// Writes the calls one by one, or as a table if most are repeated with other numbers.
CCalls WriteCalls(const std::vector<CLine>& lines);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_C_CALLS_H_
