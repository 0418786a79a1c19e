// Rewrites messages of the library, which knows no options, for the command.
#ifndef ASHLAR_TOOLS_OPTION_WORDS_H_
#define ASHLAR_TOOLS_OPTION_WORDS_H_

#include <string>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace ashlar {

// Names the option in a message's advice: "--shape x=1x3x224x224 fixes them".
inline std::string InOptionWords(absl::string_view message) {
  return absl::StrReplaceAll(message,
                             {{"a shape such as ", "--shape "},
                              {"allowing external symlinks ", "--allow-external-symlinks "}});
}

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_OPTION_WORDS_H_
