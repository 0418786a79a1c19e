#include "tools/folder_entries.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tools/exit_code.h"

namespace ashlar {

namespace fs = std::filesystem;

absl::StatusOr<std::vector<fs::path>> EntriesOf(const fs::path& folder, bool folders) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const bool is_folder = it->is_directory(error);
    if (is_folder == folders && !absl::StartsWith(it->path().filename().string(), ".")) {
      entries.push_back(it->path());
    }
  }
  if (error) {
    return WithExitCode(
        absl::InvalidArgumentError(absl::StrCat(folder.string(), ": ", error.message())),
        ExitCode::kRejectedInput);
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace ashlar
