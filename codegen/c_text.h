// Pieces of C.
#ifndef ASHLAR_CODEGEN_C_TEXT_H_
#define ASHLAR_CODEGEN_C_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/dtype.h"

namespace ashlar {

// Whether a text may be the name of a program: a letter, then letters, digits and underscores.
bool IsIdentifier(absl::string_view text);
// A name like `text` that may: other characters become underscores.
std::string IdentifierLike(absl::string_view text);
std::string Upper(absl::string_view text);

// The type of elements as they are stored: "int8_t", "float"; of 16-bit floats their bits.
absl::string_view ElementType(DType dtype);

// The elements of an array, "1, 2, 3", in lines of a file.
std::string Elements(DType dtype, const void* data, int64_t count);

// A text for a comment at the end of a line.
std::string CommentText(absl::string_view text);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_C_TEXT_H_
