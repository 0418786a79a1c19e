#include "serialization/kernel_record_path.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace ashlar {

std::string DefaultKernelRecordPath() {
  if (const char* path = std::getenv("ASHLAR_KERNELS")) return path;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return absl::StrCat(cache, "/ashlar/kernels.json");
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return absl::StrCat(home, "/.cache/ashlar/kernels.json");
  }
  return "";
}

}  // namespace ashlar
