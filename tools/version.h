// The version, build and features of this program.
#ifndef ASHLAR_TOOLS_VERSION_H_
#define ASHLAR_TOOLS_VERSION_H_

#include <string>

namespace ashlar {

// "1.0.0": the version of the CMake project.
std::string Version();

// "release, g++ 12.2.0"
std::string BuildText();

// For --version: version and build, instruction sets, libraries, devices, formats; several lines.
std::string VersionText();

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_VERSION_H_
