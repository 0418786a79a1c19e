#include "tests/support/shared_data.h"

#include <cstdlib>
#include <filesystem>

namespace ashlar::testing {

std::string SourceFolder() { return ASHLAR_SOURCE_DIR; }

std::string SharedData(const std::string& relative) {
  const std::filesystem::path own = std::filesystem::path(SourceFolder()) / "tests" / relative;
  if (std::filesystem::exists(own)) return own.string();
  const char* folder = std::getenv("ASHLAR_SHARED");
  const std::filesystem::path root =
      folder != nullptr ? folder : std::filesystem::path(SourceFolder()) / ".." / "shared";
  return (root / relative).string();
}

bool HasSharedData(const std::string& relative) {
  return std::filesystem::exists(SharedData(relative));
}

}  // namespace ashlar::testing
