#include "tools/output_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "serialization/file_writer.h"
#include "tools/exit_code.h"

namespace ashlar {
namespace {

namespace fs = std::filesystem;

// Whether both are the same regular file, which need not exist yet.
bool SameFile(const std::string& a, const std::string& b) {
  std::error_code error;
  const fs::file_status status = fs::status(a, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return false;
  if (fs::exists(status)) return fs::equivalent(a, b, error);
  return fs::weakly_canonical(fs::absolute(a, error), error) ==
         fs::weakly_canonical(fs::absolute(b, error), error);
}

}  // namespace

absl::Status CheckOutputFiles(const std::vector<std::string>& outputs,
                              std::vector<std::string> values) {
  std::vector<std::string> files;
  for (const std::string& output : outputs) {
    if (!output.empty()) files.push_back(output);
  }
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (!SameFile(files[i], files[k])) continue;
      return UsageError(absl::StrCat(files[i], " would be written twice"));
    }
    // `values` includes the output's own option.
    const auto own = std::find(values.begin(), values.end(), files[i]);
    if (own != values.end()) values.erase(own);
  }
  for (const std::string& file : files) {
    for (const std::string& value : values) {
      const size_t name = value.find('=');
      const bool read = (!value.empty() && SameFile(file, value)) ||
                        (name != std::string::npos && SameFile(file, value.substr(name + 1)));
      if (read) return UsageError(absl::StrCat(file, " is read, and would be overwritten"));
    }
    ASHLAR_RETURN_IF_ERROR(CheckWritable(file));
  }
  return absl::OkStatus();
}

}  // namespace ashlar
