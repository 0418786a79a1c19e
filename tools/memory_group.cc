#include "tools/memory_group.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ashlar {
namespace {

// The first version states that there is no limit as a number near 2^63.
constexpr int64_t kNoLimit = int64_t{1} << 60;

std::optional<int64_t> LimitIn(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  int64_t bytes = 0;
  if (!(file >> text) || !absl::SimpleAtoi(text, &bytes) || bytes > kNoLimit) return std::nullopt;
  return bytes;
}

std::optional<int64_t> Lower(std::optional<int64_t> a, std::optional<int64_t> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

// Returns the lowest limit of a group and the ones around it. A container may see a group under the
// path that it has outside: then only the folder of all groups is there, with the container's own
// limit.
std::optional<int64_t> LimitUpTo(const std::string& mount, std::string group,
                                 const std::string& file) {
  std::optional<int64_t> limit = LimitIn(absl::StrCat(mount, "/", file));
  for (; group.size() > 1; group.resize(group.rfind('/'))) {
    limit = Lower(limit, LimitIn(absl::StrCat(mount, group, "/", file)));
  }
  return limit;
}

}  // namespace

std::optional<int64_t> MemoryGroupLimit(const std::string& root) {
  const std::string mounts = absl::StrCat(root, "/sys/fs/cgroup");
  std::optional<int64_t> limit;
  // "4:memory:/GROUP" in the first version, "0::/GROUP" in the second.
  std::ifstream groups(absl::StrCat(root, "/proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() < 3 || !absl::StartsWith(parts[2], "/")) continue;
    if (parts[1].empty()) {
      limit = Lower(limit, LimitUpTo(mounts, parts[2], "memory.max"));
    } else if (absl::c_linear_search(std::vector<std::string>(absl::StrSplit(parts[1], ',')),
                                     "memory")) {
      limit = Lower(limit, LimitUpTo(mounts + "/memory", parts[2], "memory.limit_in_bytes"));
    }
  }
  return limit;
}

}  // namespace ashlar
