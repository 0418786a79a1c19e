#include "tests/support/shared_data.h"

#include <cstdlib>
#include <filesystem>

namespace ashlar::testing {

std::string SourceFolder() { return ASHLAR_SOURCE_DIR; }

std::string SharedData(const std::string& relative) {
  const char* folder = std::getenv("ASHLAR_SHARED");
  const std::filesystem::path root =
      folder != nullptr ? folder : std::filesystem::path(SourceFolder()) / ".." / "shared";
  return (root / relative).string();
}

bool HasSharedData(const std::string& relative) {
  return std::filesystem::exists(SharedData(relative));
}

}  // namespace ashlar::testing
