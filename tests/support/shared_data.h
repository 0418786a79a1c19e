#ifndef ASHLAR_TESTS_SUPPORT_SHARED_DATA_H_
#define ASHLAR_TESTS_SUPPORT_SHARED_DATA_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace ashlar::testing {

// The path of a file of the outside data set, whether or not it is there: below the folder that the
// environment variable ASHLAR_SHARED names, or else below ../shared beside the sources.
inline std::string SharedData(const std::string& relative) {
  const char* folder = std::getenv("ASHLAR_SHARED");
  const std::filesystem::path root =
      folder != nullptr ? folder : std::filesystem::path(ASHLAR_SOURCE_DIR) / ".." / "shared";
  return (root / relative).string();
}

inline bool HasSharedData(const std::string& relative) {
  return std::filesystem::exists(SharedData(relative));
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_SHARED_DATA_H_
