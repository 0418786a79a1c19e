// The control group that limits the memory of this process.
#ifndef ASHLAR_TOOLS_MEMORY_GROUP_H_
#define ASHLAR_TOOLS_MEMORY_GROUP_H_

#include <cstdint>
#include <optional>
#include <string>

namespace ashlar {

// Returns the memory limit of this process's control group and of the groups around it, the lowest,
// in bytes; nothing if there is none. Reads both versions of the interface, below `root`, which
// tests give.
std::optional<int64_t> MemoryGroupLimit(const std::string& root = "");

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_MEMORY_GROUP_H_
