#include "codegen/c_single_file.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "codegen/c_text.h"

namespace ashlar {
namespace {

// Appends a file without its includes of other files of the program.
void Append(const CFile& file, std::string& text) {
  for (const absl::string_view line : absl::StrSplit(file.text, '\n')) {
    if (!absl::StartsWith(line, "#include \"")) absl::StrAppend(&text, line, "\n");
  }
}

}  // namespace

std::string SingleFileOf(const CProgram& program, const std::string& name) {
  const std::string header = name + ".h", test = name + "_test.c";
  const std::string macro = Upper(name);
  std::string text = absl::StrCat("// Define ", macro, "_IMPLEMENTATION in one source before it ",
                                  "includes this file.\n");
  std::string declarations, sources, tests;
  for (const CFile& file : program.files) {
    Append(file, file.name == header               ? text
                 : absl::EndsWith(file.name, ".h") ? declarations
                 : file.name == test               ? tests
                                                   : sources);
  }
  absl::StrAppend(&text, "#ifdef ", macro, "_IMPLEMENTATION\n#undef ", macro,
                  "_IMPLEMENTATION\n\n");
  // Names of their own, so that a firmware may have several programs.
  for (const std::string& kernel : program.sizes.kernels) {
    absl::StrAppend(&text, "#define ashlar_", kernel, " ", name, "_ashlar_", kernel, "\n");
  }
  absl::StrAppend(&text, "\n", declarations, sources, "#ifdef ", macro, "_TEST\n", tests,
                  "#endif\n#endif\n");
  return text;
}

}  // namespace ashlar
