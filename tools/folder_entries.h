// The entries of a folder.
#ifndef ASHLAR_TOOLS_FOLDER_ENTRIES_H_
#define ASHLAR_TOOLS_FOLDER_ENTRIES_H_

#include <filesystem>
#include <vector>

#include "absl/status/statusor.h"

namespace ashlar {

// Returns the entries of a folder that are folders, or that are files, sorted by name, without
// hidden ones. Errors are kRejectedInput.
absl::StatusOr<std::vector<std::filesystem::path>> EntriesOf(const std::filesystem::path& folder,
                                                             bool folders);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_FOLDER_ENTRIES_H_
