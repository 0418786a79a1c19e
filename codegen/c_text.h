// Helpers that write pieces of C.
#ifndef ASHLAR_CODEGEN_C_TEXT_H_
#define ASHLAR_CODEGEN_C_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/dtype.h"

namespace ashlar {

// Returns whether a text can be the name of a program: a letter, then letters, digits and
// underscores.
bool IsIdentifier(absl::string_view text);
// Returns a similar name that is an identifier: other characters become underscores.
std::string IdentifierLike(absl::string_view text);
std::string Upper(absl::string_view text);

// Returns the C type of stored elements: "int8_t", "float"; for 16-bit floats, the type of their
// bits.
absl::string_view ElementType(DType dtype);

// Returns the elements of an array, "1, 2, 3", in lines of a file.
std::string Elements(DType dtype, const void* data, int64_t count);

inline constexpr char kWrittenBy[] = "// Written by `ashlar compile`.\n";

// Makes a text safe for a comment at the end of a line.
std::string CommentText(absl::string_view text);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_C_TEXT_H_
