// Commands as text that a shell takes.
#ifndef ASHLAR_LIBRARY_SHELL_TEXT_H_
#define ASHLAR_LIBRARY_SHELL_TEXT_H_

#include <string>
#include <vector>

namespace ashlar {

// Joins words with spaces, and quotes each that a shell would not take for one word.
std::string ShellText(const std::vector<std::string>& words);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_SHELL_TEXT_H_
