#include "codegen/c_states.h"

#include "absl/strings/str_cat.h"

namespace ashlar {

std::string StateMacros(const CStateMemory& states) {
  return absl::StrCat("// The memory of the states, which each run reads and changes. ",
                      states.program,
                      "_reset writes their first\n// values into it. A caller with several streams "
                      "has such a memory "
                      "for each.\n",
                      "#define ", states.macro, "_STATE_BYTES ", states.bytes, "\n#define ",
                      states.macro, "_STATE_ALIGNMENT ", states.alignment, "\n\n");
}

std::string ResetDeclaration(const CStateMemory& states) {
  return absl::StrCat(
      "// Writes the first values of all states. A run before it reads whatever is in the "
      "memory.\n",
      "int ", states.program, "_reset(void* states);\n\n");
}

std::string ResetFunction(const CStateMemory& states) {
  std::string text = absl::StrCat(
      "int ", states.program, "_reset(void* states) {\n",
      "  unsigned char* const to = (unsigned char*)states;\n  uint32_t i;\n",
      "  if (states == NULL) return ", states.macro, "_NULL;\n", "  if ((uintptr_t)states % ",
      states.macro, "_STATE_ALIGNMENT != 0) return ", states.macro, "_MISALIGNED;\n",
      "  for (i = 0; i < ", states.macro, "_STATE_BYTES; ++i) to[i] = 0;\n");
  for (const CStateMemory::FirstValue& value : states.first_values) {
    absl::StrAppend(&text, "  for (i = 0; i < ", value.bytes, "; ++i) {\n    to[", value.offset,
                    " + i] = ((const unsigned char*)", value.array, ")[i];\n  }\n");
  }
  absl::StrAppend(&text, "  return ", states.macro, "_OK;\n}\n\n");
  return text;
}

}  // namespace ashlar
