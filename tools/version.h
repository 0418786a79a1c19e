// The version, build and features of this program.
#ifndef ASHLAR_TOOLS_VERSION_H_
#define ASHLAR_TOOLS_VERSION_H_

#include <string>

namespace ashlar {

// Returns "1.0.0": the version of the CMake project.
std::string Version();

// Returns e.g. "release, g++ 12.2.0".
std::string BuildText();

// Returns the text of --version, in several lines: version and build, instruction sets, libraries,
// devices, formats.
std::string VersionText();

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_VERSION_H_
